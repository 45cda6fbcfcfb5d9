"""Open Cluster Management: its manifests, read into the model."""
