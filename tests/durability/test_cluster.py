"""Spark on a cluster of this machine: a master and two workers, the driver outside, and what is killed in between."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from rdflib import URIRef

from tests import ROOT
from tests.support.cluster import Cluster, cluster
from tests.support.hadoop import NEEDS_HADOOP, hdfs
from triplestore import Store, objects
from triplestore.storage.versions import Versions

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.xdist_group("cluster")]

E = "http://e/"
RDFS, OWL, TYPE = (
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
)

PROGRAM = """
import sys
from triplestore.engine.thresholds import Thresholds
from triplestore import Store
Thresholds.in_driver = 0
store, *files = sys.argv[1:]
with Store.create(store, engine="spark") as kg:
    print("session", flush=True)
    kg.load(files[0], maintain="rematerialise")  # in tables: the driver would do so little by itself
    print("loaded", flush=True)
    kg.load(files[1])
    kg.update(delete=[tuple(map(__import__("rdflib").URIRef, ("http://e/x3", "http://e/knows", "http://e/x4")))])
    print("updated", flush=True)
    print(len(kg.query("SELECT ?s { ?s a <http://e/C0> }")), flush=True)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    chance = random.Random(5)
    lines = [f"<{E}C{n + 1}> <{RDFS}subClassOf> <{E}C{n}> ." for n in range(5)]
    lines += [f"<{E}knows> {TYPE} <{OWL}SymmetricProperty> .", f"<{E}mail> {TYPE} <{OWL}InverseFunctionalProperty> ."]
    for n in range(3000):
        lines.append(f"<{E}x{n}> {TYPE} <{E}C{chance.randrange(6)}> .")
        lines.append(f"<{E}x{n}> <{E}knows> <{E}x{n + 1}> .")
        lines.append(f'<{E}x{n}> <{E}mail> "m{n // 2 if n < 200 else n}" .')
    first, second = folder / "first.nt", folder / "second.nt"
    first.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    second.write_text("\n".join(lines[len(lines) // 2 :]) + "\n")
    return [first, second]


@pytest.fixture(scope="module")
def expected(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    with Store.create(tmp_path_factory.mktemp("expected") / "kg", engine="duckdb") as kg:
        kg.load(*files)
        kg.update(delete=[(URIRef(f"{E}x3"), URIRef(f"{E}knows"), URIRef(f"{E}x4"))])
        return exported(kg)


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def name_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs(tmp_path_factory.mktemp("hdfs") / "dfs") as url:
        yield url


S3, HDFS = (pytest.param(place, marks=NEEDS_HADOOP) for place in ("s3", "hdfs"))


@pytest.fixture
def kg(request: pytest.FixtureRequest, tmp_path: Path, cached: Path) -> Path | str:
    """Where a store is: a folder that all see, a bucket, or HDFS."""
    if request.param == "folder":
        return tmp_path / "kg"
    return f"{request.getfixturevalue('s3' if request.param == 's3' else 'name_node')}/{tmp_path.name}"


def exported(kg: Store) -> list[str]:
    return [line for batch in kg.lines("all", ordered=True) for line in batch]


def content(store: Path | str) -> list[str]:
    with Store.open(store, engine="duckdb", verify=True) as kg:
        return exported(kg)


@pytest.mark.parametrize("kg", [HDFS], indirect=True)
def test_load_update_and_query(spark_cluster: Cluster, files: list[Path], expected: list[str], kg: Path | str) -> None:
    driver = spark_cluster.run(PROGRAM, kg, *files)
    out, err = driver.communicate(timeout=500)
    assert driver.returncode == 0, err[-3000:]
    assert out.split() == ["session", "loaded", "updated", str(sum(f"{TYPE} <{E}C0>" in line for line in expected))]
    if isinstance(kg, str):
        versions = Versions(kg)
        first, second = (set(versions.manifest(number).files_of("fact").files) for number in (1, 2))
        for file in second - first:
            assert pq.read_metadata(versions.place.opened(file)).created_by.startswith("parquet-mr")  # by an executor
        assert second - first
    assert content(kg) == expected


FRAMES = """
import sys
from triplestore import Store
store, files, rejects = sys.argv[1:]
with Store.create(store, engine="spark") as kg:
    kg.load(files)
    spark = kg.asserted_df().sparkSession
    rows = [("<http://e/y%d>" % n, "<http://e/knows>", "_:b%d" % (n % 3)) for n in range(100)]
    print(kg.load_dataframe(spark.createDataFrame(rows, "s string, p string, o string")).triples)
    try:
        kg.load_dataframe(spark.createDataFrame([("x", "<http://e/p>", "1")], "s string, p string, o string"))
    except Exception as error:
        print(type(error).__name__)
    print(kg.load(rejects, on_error="skip").skipped)
with Store.open(store, engine="spark") as kg:
    print(len([file for file in kg.facts_df().inputFiles() if not file.startswith("s3a://lake")]))
"""


@NEEDS_HADOOP
def test_executors_read_objects(spark_cluster: Cluster, files: list[Path], expected: list[str], s3: str) -> None:
    """Files and DataFrames are where executors see them, and not on the driver's machine."""
    bucket = objects.opened(s3)
    bucket.put("in/first.nt", files[0])
    bucket.put("in/second.nt.gz", gzip.compress(files[1].read_bytes()))
    bucket.put("bad.nt", b"<http://e/x> nonsense .\n<http://e/x> <http://e/p> <http://e/y> .\n")
    driver = spark_cluster.run(FRAMES, f"{s3}/kg", f"{s3}/in", f"{s3}/bad.nt")
    out, err = driver.communicate(timeout=500)
    assert driver.returncode == 0, err[-3000:]
    assert out.split() == ["100", "InputError", "1", "0"]
    with Store.open(f"{s3}/kg", engine="duckdb", verify=True) as kg:
        assert len(kg.query("SELECT * { ?x <http://e/knows> ?o FILTER(ISBLANK(?o)) }")) == 100
        assert kg.stats().asserted == len(b"".join(file.read_bytes() for file in files).splitlines()) + 101
    assert {entry.name for entry in bucket.listed("kg/data")} == {
        f"kg/data/{file.path}"
        for number in Versions(f"{s3}/kg").numbers()
        for _, file in Versions(f"{s3}/kg").read(number).named
    }


def test_the_example(spark_cluster: Cluster, files: list[Path], tmp_path: Path) -> None:
    """As `spark-submit` runs it, in a session that the program makes."""
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", spark_cluster.master]
    command = [*submit, str(ROOT / "examples/spark_job.py"), str(tmp_path / "kg"), *map(str, files)]
    command += ["--out", str(tmp_path / "out")]
    for _ in range(2):
        done = subprocess.run(command, env=spark_cluster.environment, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr[-3000:]
    with Store.open(tmp_path / "kg", engine="duckdb") as kg:
        facts = kg.stats().facts
    assert f"wrote {facts:,} facts to {tmp_path / 'out'}" in done.stdout


@pytest.mark.parametrize("kg", [S3], indirect=True)
def test_an_executor_is_killed(spark_cluster: Cluster, files: list[Path], expected: list[str], kg: Path | str) -> None:
    """Again and again while the driver works: it finds what it would have found."""
    chance = random.Random(str(kg)[:2])
    driver = spark_cluster.run(PROGRAM, kg, *files)
    killed = 0
    assert driver.stdout is not None
    assert driver.stdout.readline() == "session\n"
    while driver.poll() is None and killed < 3:
        time.sleep(chance.uniform(2, 12))
        if executors := spark_cluster.executors():
            chance.choice(executors).kill()
            killed += 1
    _, err = driver.communicate(timeout=500)
    assert driver.returncode == 0, err[-3000:]
    assert killed
    assert content(kg) == expected


@pytest.mark.parametrize(
    ("kg", "phase"),
    [("folder", 0), pytest.param("s3", 1, marks=NEEDS_HADOOP), pytest.param("hdfs", 2, marks=NEEDS_HADOOP)],
    indirect=["kg"],
)
def test_the_driver_is_killed(
    spark_cluster: Cluster, files: list[Path], expected: list[str], kg: Path | str, phase: int
) -> None:
    """The store is that of the last version, and another driver goes on from there."""
    chance = random.Random(phase)
    driver = spark_cluster.run(PROGRAM, kg, *files)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "session\n"
    for _ in range(phase):
        assert driver.stdout.readline()
    time.sleep(chance.uniform(0, 6))
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    with Store.open(kg, engine="duckdb", verify=True) as store:
        store.load(*files)
        store.update(delete=[(URIRef(f"{E}x3"), URIRef(f"{E}knows"), URIRef(f"{E}x4"))])
        assert exported(store) == expected
