"""Server-side apply to one cluster: in a safe order, with an inventory that knows at any moment what may be there, and
without touching what is not ours."""
