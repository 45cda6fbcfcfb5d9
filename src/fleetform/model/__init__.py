"""Records only: what people write (kinds), what the engine answers (results), every code that it can give (reasons).

Objects with their origin, the snapshot of one pass, what is known of plugins from earlier passes (state), and what
manifests of other systems mean (conventions). A record may derive a value from its own fields; whatever needs a second
record, a notation or a decision belongs above: to syntax or the engine. shape is the exception, as it is made of the
records alone: it says why a tree is not one of them.
"""
