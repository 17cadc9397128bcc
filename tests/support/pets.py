"""A store of two names for one dog: its data, what follows, and the files that commands are given."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.cli import done

PETS = """\
@prefix : <http://ex/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .
:email a owl:InverseFunctionalProperty .
:rex a :Dog ; :email "rex@ex" .
:fido :email "rex@ex" .
"""
"""Five triples; two names for one dog."""

CLOSURE = """\
<http://ex/Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://ex/Animal> .
<http://ex/email> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#InverseFunctionalProperty> .
<http://ex/fido> <http://ex/email> "rex@ex" .
<http://ex/fido> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Animal> .
<http://ex/fido> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Dog> .
<http://ex/fido> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/fido> .
<http://ex/fido> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/rex> .
<http://ex/rex> <http://ex/email> "rex@ex" .
<http://ex/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Animal> .
<http://ex/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Dog> .
<http://ex/rex> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/fido> .
<http://ex/rex> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/rex> .
"""  # noqa: E501 - triples are as long as they are
"""What follows from PETS by OWL 2 RL, without the rules' own axioms (which say nothing of http://ex/)."""

FILES = {
    "pets.ttl": PETS,
    "more.nt": '<http://ex/tom> <http://ex/email> "tom@ex" .\n',
    "cat.ttl": "@prefix : <http://ex/> . :Cat <http://www.w3.org/2002/07/owl#disjointWith> :Dog . :rex a :Cat .",
    "bad.nt": "<http://ex/a> <http://ex/p> <http://ex/b> .\n<http://ex/a> <http://ex/p> oops .\n",
    "bad.ttl": "@prefix : <http://ex/> .\n:a :p :b .\n:a :p ;; oops .\n",
    "named.nq": "<http://ex/a> <http://ex/p> <http://ex/b> <http://ex/g> .\n",
    "plain": "<http://ex/a> <http://ex/p> <http://ex/b> .\n",
    "barks.dlog": "@prefix : <http://ex/> .\n@rule barks\n[?x, :says, :woof] :- [?x, a, :Dog] .\n",
    "bad.dlog": "@prefix : <http://ex/> .\n@rule unsafe\n[?x, :says, ?y] :- [?x, a, :Dog] .\n",
    "change.rdfp": 'TX .\nD <http://ex/fido> <http://ex/email> "rex@ex" .\n'
    'A <http://ex/fido> <http://ex/email> "fido@ex" .\nTC .\n',
    "bad.rdfp": "TX .\nA <http://ex/a> <http://ex/p> oops .\nTC .\n",
    "add.ru": "PREFIX : <http://ex/> INSERT DATA { :bello a :Dog } ;\n",
    "bad.ru": "PREFIX : <http://ex/>\nINSERT DATA { :bello a oops }\n",
    "named.ru": "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
    "load.ru": "LOAD <more.nt>",
    "where.ru": "PREFIX : <http://ex/> DELETE { ?x a ?c } WHERE { ?x a :Dog , ?c }",
    "dogs.rq": "SELECT ?x WHERE { ?x a <http://ex/Animal> } ORDER BY ?x",
}

DOGS = FILES["dogs.rq"]


def stats(store: str | Path = "kg", *more: str) -> dict[str, object]:
    found = json.loads(done("stats", store, "--json", *more))
    assert isinstance(found, dict)
    return found


def said(*options: str, store: str = "kg") -> str:
    """The sorted export's lines about http://ex/."""
    lines = done("export", store, "--sorted", "-q", *options).splitlines(keepends=True)
    return "".join(line for line in lines if "<http://ex/" in line)


def stored_files(store: Path) -> set[str]:
    """The data files that the newest version names."""
    manifest = json.loads(sorted((store / "_versions").glob("*.json"))[-1].read_text())
    parts = (table[part] for table in manifest["tables"].values() for part in ("files", "tombstones"))
    return {file["path"] for part in parts for file in part}
