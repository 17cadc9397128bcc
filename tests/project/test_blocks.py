"""Every block of the README and the documentation runs as it is printed, page by page."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from rdflib import FOAF, RDF, Graph

from tests import ROOT
from tests.support.blocks import Reader, blocks
from tests.support.cli import done
from triplestore import Store

PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DATASETS: Final = sorted((ROOT / "datasets").glob("*/README.md"))
ON_SPARK: Final = ("spark.md", "streams.md")
PARAMETERS: Final = [
    *[pytest.param(page, id=page.name) for page in PAGES if page.name not in ON_SPARK],
    pytest.param(ROOT / "rulesets/README.md", id="rulesets"),
    *[pytest.param(ROOT / "docs" / name, id=name, marks=pytest.mark.spark) for name in ON_SPARK],
    *[pytest.param(page, id=page.parent.name, marks=pytest.mark.long) for page in DATASETS],
]

ELSEWHERE: Final = {
    r"^make |\.venv/bin/python -m pytest": "it runs the tests",
    r"pip install|-m venv": "it installs from the network",
    r"^docker ": "Docker is not everywhere: tests/project/test_deploy.py carries out the steps of the image",
    r"^useradd|^chown|/etc/systemd|/opt/triplake|^cd /var/lib|^mkdir data": "it sets up a machine",
    r"https://www\.w3\.org|10000000": "it needs the network, or minutes",
    r"s3://|gs://": "it needs a bucket: tests/durability/test_s3.py has one",
    r"spark://|--master": "it needs a cluster: tests/durability/test_cluster.py has one",
    r"--rml|YATTER|^export ": "it needs morph-kgc in an environment of its own: tests/unit/loaders/test_rml.py",
    r"tests\.bench": "it measures for minutes and hours",
    r"--port 80 ": "it needs a port of the machine's",
}
"""What commands match that no test can give as they are printed, and why."""

PEOPLE: Final = """@prefix ex: <http://example.org/> . @prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
ex:ada a ex:Student ; ex:knows ex:bob ; ex:name "Ada" ; rdfs:label "Ada" . ex:grace a ex:Robot .
ex:paris owl:sameAs ex:p1 . ex:p1 owl:sameAs ex:paris_hilton .
ex:rembrandt owl:sameAs ex:r_van_rijn ; rdfs:label "Rembrandt" ; rdfs:comment "a Dutch painter"@en .
ex:hals rdfs:comment "a Dutch painter"@en .
"""
ONTOLOGY: Final = """@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Student rdfs:subClassOf ex:Person .
"""
FAMILY: Final = """PREFIX ex: <http://example.org/>
@rule uncle
[?x, ex:uncle, ?z] :- [?x, ex:parent, ?y], [?y, ex:brother, ?z] .
"""
SWRL: Final = """@prefix swrl: <http://www.w3.org/2003/11/swrl#> . @prefix ex: <http://example.org/> .
ex:x a swrl:Variable . ex:robots a swrl:Imp ;
  swrl:body ([ a swrl:ClassAtom ; swrl:classPredicate ex:Robot ; swrl:argument1 ex:x ]) ;
  swrl:head ([ a swrl:ClassAtom ; swrl:classPredicate ex:Machine ; swrl:argument1 ex:x ]) .
"""
SENSORS: Final = "2024-05-01T12:00:00Z <http://example.org/r1> a <http://example.org/Warm> .\n" * 2


def write_files(folder: Path) -> None:
    """What readers of the pages have: files of the names that these use."""
    add = "TX .\nA <http://example.org/cem> <http://example.org/knows> <http://example.org/ada> .\n"
    files = {
        "ontology.ttl": ONTOLOGY,
        "people.ttl": PEOPLE,
        "your-file.ttl": PEOPLE,
        "museum.ttl": PEOPLE,
        "more.ttl": ONTOLOGY,
        "all.ttl": PEOPLE,
        "data/a.ttl": ONTOLOGY + "ex:Robot rdfs:subClassOf ex:Thing .",
        "family.ttl": PEOPLE + "ex:ada ex:parent ex:bob . ex:bob ex:brother ex:cem .",
        "registry.nq": '<http://example.org/a> <http://example.org/name> "A" <http://example.org/g> .\n',
        "old.ttl": "<http://example.org/o> <http://example.org/p> 1 .",
        "old.nt": "<http://example.org/ada> <http://example.org/knows> <http://example.org/bob> .\n",
        "new.nt": "<http://example.org/ada> <http://example.org/knows> <http://example.org/grace> .\n",
        "changes.rdfp": f'{add}D <http://example.org/ada> <http://example.org/name> "Ada" .\nTC .\n',
        "changes/1.rdfp": f"{add}TC .\n",
        "changes/2.ru": "INSERT DATA { <http://example.org/dora> a <http://example.org/Student> }",
        "family.dlog": FAMILY,
        "people.csv": "id,name,born,email,boss\n1,Ada,1815-12-10,,\n",
        "people.tpl": "<http://example.org/person/{id}> foaf:name {name} .",
        "people.rq": "SELECT ?x { ?x a <http://example.org/Person> }",
        "alarms.rq": "REGISTER QUERY alarms AS SELECT ?x FROM STREAM <s> [RANGE 5m STEP 1m] { ?x a ?c }".replace(
            "<s>", "<http://example.org/s>"
        ),
        "sensors.txt": SENSORS,
        "log": SENSORS,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    people = Graph().parse(data=PEOPLE).serialize(format="nt")
    (folder / "people.nt.gz").write_bytes(gzip.compress(people.encode()))
    (folder / "dump.nt.gz").write_bytes(gzip.compress(files["new.nt"].encode()))
    (folder / "ontology.owl").write_text(Graph().parse(data=SWRL).serialize(format="xml"), encoding="utf-8")
    shutil.copytree(ROOT / "datasets/museum", folder / "datasets/museum")


def made(*stores: str) -> None:
    """Stores of these paths, with the people."""
    for store in stores:
        done("load", store, "ontology.ttl", "people.ttl", "--quiet")


def commands_page() -> dict[str, Callable[[], None]]:
    def suspects() -> None:
        museum = [f"datasets/museum/{name}.ttl" for name in ("ontology", "rijksmuseum", "mauritshuis", "links")]
        shutil.move("kg", "people-kg")
        done("load", "kg", *museum, "--quiet")

    def stream() -> None:
        shutil.rmtree("kg")
        shutil.move("people-kg", "kg")

    def damage() -> None:
        """A store of eight versions, of which the last is damaged, whatever the page has done before."""
        shutil.move("kg", "kg-before")
        made("kg")
        with Store.open("kg") as store:
            while store.version < 7:  # each change adds a triple: one that changes nothing makes no version
                store.sparql_update(f"INSERT DATA {{ <urn:a> <urn:b> {store.version} }}")
            before = set(Path("kg/data").iterdir())
            store.sparql_update("INSERT DATA { <urn:new> <urn:p> <urn:o> }")
            assert store.version == 8
        added = set(Path("kg/data").iterdir()) - before
        assert added
        for file in added:
            file.write_bytes(b"damaged")

    return {
        "$ triplake suspects kg --limit 1": suspects,
        "triplake stream kg --query alarms.rq --from sensors.txt": stream,
        "triplake verify kg                     # 5: version 8 is damaged, of the versions whole: 1 to 7": damage,
    }


def certificate() -> None:
    subprocess.run(
        [*("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
         *("-keyout", "server.key", "-out", "server.pem")],
        check=True,
        capture_output=True,
    )  # fmt: skip


BEFORE: Final[dict[str, Callable[[], Any]]] = {
    "commands.md": lambda: (made("people"), done("account", "accounts", "first", "--token")),
    "sparql-update.md": lambda: made("kg"),
    "store-format.md": lambda: made("kg"),
    "server.md": lambda: made("kg", "building"),
    "operations.md": lambda: (made("kg", "people"), certificate(), done("account", "accounts", "first", "--token")),
}
"""What a reader of a page has made before, beside the files."""


def arrive(names: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """What the example of Spark's Structured Streaming reads."""
    spark = request.getfixturevalue("spark")
    Path("arriving").mkdir()
    lines = [json.dumps({"time": 5, "triple": f"<urn:{n}> <urn:p> <urn:o> ."}) for n in range(3)]
    Path("arriving/1.json").write_text("\n".join(lines), encoding="utf-8")
    query = Path("alarms.rq").read_text(encoding="utf-8")
    names.update(spark=spark, query=query, store=Store.open("building", spark=spark))


@pytest.mark.parametrize("page", PARAMETERS)
def test_each_block_runs_as_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    BEFORE.get(page.name, lambda: None)()
    if page.parent.name == "museum":  # its files are there
        monkeypatch.chdir("datasets/museum")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    instead = {"3030": str(port), "8080": str(port), '"/data/people"': f'"{tmp_path}/people"'}
    names: dict[str, Any] = {}
    hooks: dict[str, Callable[[], None]] = {}
    if page.name == "commands.md":
        hooks = commands_page()
        instead["people=/data/people"] = f"people={tmp_path}/people"
    if page.name == "streams.md":
        instead["awaitTermination()"] = "processAllAvailable()"
        for name in ("arriving", "checkpoint"):  # Java's own folder is another
            instead[f'"{name}"'] = f'"{tmp_path}/{name}"'
        first = 'frame = spark.readStream.schema("time LONG, triple STRING").json("arriving")'
        hooks = {first: lambda: arrive(names, request)}
    if page.name == "python.md":
        hooks = {"from rdflib import Graph, Namespace, RDF": lambda: names.update(store=Store.open("kg"))}
    if page.name == "spark.md":
        instead['"people"'] = f'"{tmp_path}/people"'
        spark = names["session"] = request.getfixturevalue("spark")
        age = ("<urn:a>", f"<{FOAF.age}>", '"7"^^<http://www.w3.org/2001/XMLSchema#integer>')
        person = ("<urn:a>", f"<{RDF.type}>", f"<{FOAF.Person}>")
        names["triples"] = spark.createDataFrame([age, person], "s string, p string, o string")
    found = list(blocks(page))
    with Reader(tmp_path, port, ELSEWHERE, hooks, names, instead) as reader:
        for block in found:
            reader.read(block)
    if page == ROOT / "README.md":
        assert reader.steps > 8
    if page.name == "rules.md":
        assert done("check", "people") == "consistent\n", "as it says of the tutorial"
    first = {block.first for block in found}
    assert set(hooks) <= first, "they stand before blocks that there are"


def test_what_is_done_elsewhere_is_printed() -> None:
    printed = [b.body for page in [*PAGES, *DATASETS] for b in blocks(page) if b.language == "sh"]
    lines = [line for body in printed for line in body.splitlines()]
    assert [pattern for pattern in ELSEWHERE if not any(re.search(pattern, line) for line in lines)] == []
