"""SHACL Core: shapes are read to a model, each constraint is a pattern of SPARQL's algebra, solutions are results."""
