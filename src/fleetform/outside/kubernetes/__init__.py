"""A thin client of Kubernetes API servers: who we are there (`access`), what kinds there are (`resources`), requests
(`client`, over `connections`), what refusals mean (`errors`), and lists that follow changes (`reflector`)."""
