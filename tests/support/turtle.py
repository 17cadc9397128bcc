"""Graphs from Turtle with the usual prefixes."""

from __future__ import annotations

import rdflib

PREFIXES = """
@prefix : <http://ex/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def graph(turtle: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=f"{PREFIXES}{turtle} .", format="turtle")
