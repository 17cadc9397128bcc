"""Reading a version: what is kept of it in an engine, queries, proofs, figures, single triples."""
