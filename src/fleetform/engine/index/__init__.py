"""A snapshot indexed: what owners and overrides say, which clusters they reach, and who claims what."""
