"""Options: what a revision declares, and what every plugin gets for it, with the reason."""
