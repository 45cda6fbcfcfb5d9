"""What verbs answer, as records: one file per verb, and one for each part that several answers share.

The command line prints from these, `-o json` and `-o yaml` write them out as they are, and an API answers with the
same. Their fields, the order of these and which of them may be missing are a contract (docs/reference/cli.md): a field
that is UNSET is left out, one that is None is null. Nothing here decides anything, and no plain secret gets in.
"""
