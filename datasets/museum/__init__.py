"""Two museums' catalogues of the same painters: a small example that can be checked by hand."""
