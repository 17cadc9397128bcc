"""Streams: continuous queries over windows of timed triples, with reasoning.

Source of the incremental algorithm: Dell'Aglio and Della Valle 2014, "Incremental Reasoning on RDF Streams" (IMaRS).
"""
