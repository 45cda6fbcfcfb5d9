"""The HTTP API of a control plane: the answers of the command line, over the store that the loop writes.

process.py       a process of its own beside the loop, so that deciding never keeps anybody waiting
relay.py         requests go from there to the loop, which alone writes
application.py   HTTP: who asks, errors as problems, entity tags
endpoints.py     which addresses there are, with what they take and answer
queries.py       what can be asked with an address, as records
service.py       from a query to an answer
openapi.py       the same addresses as an OpenAPI document
"""
