"""Workload clusters: who we are there and how they are reached (`work`), in threads beside the passes, so that nobody
waits for a cluster that does not answer."""
