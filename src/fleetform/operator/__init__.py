"""The control plane on Kubernetes: its input from an API server, and what it tells there."""
