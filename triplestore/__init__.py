"""Triplake: an RDF triple store that reasons (OWL 2 RL), on DuckDB or Spark over the same files."""
