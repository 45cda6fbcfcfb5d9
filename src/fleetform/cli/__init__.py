"""The command line: one file per verb. Data goes to stdout, prose to stderr; exit codes are a contract."""
