"""Workload clusters: work on them in threads beside the passes, so that nobody waits for one that does not answer
(`work`); whose an object there is (`ownership`), what a plugin has there (`inventory`), which fields are whose
(`fields`), and how all of that is listed (`listing`)."""
