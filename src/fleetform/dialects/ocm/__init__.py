"""Open Cluster Management: its manifests, read into the model: `read` picks a kind, the other files translate it."""
