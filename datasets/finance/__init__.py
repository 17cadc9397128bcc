"""An ontology of many modules that import each other, in the manner of FIBO, with some data."""
