"""What the machine does to a command, and the exit code that tells of it: a full disk, a failing one, signals."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.conftest import MakeStore
from tests.support.cli import command, contents, done, run, working
from triplestore import Store
from triplestore.engine.disk import disk_failure
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.duckdb.errors import failure
from triplestore.engine.duckdb.reader import DuckDBReader
from triplestore.engine.duckdb.spill import removed
from triplestore.model.errors import StoppedError, StorageError, UsageError
from triplestore.model.tables import GROUP
from triplestore.server.faults import http_error
from triplestore.storage import folder, verify
from triplestore.storage.folder import Folder
from triplestore.storage.pages import PagedFile
from triplestore.storage.versions import Versions

ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . FILTER(?a != ?c && ?e != ?g) }"


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "x.nt").write_text(
        "".join(f"<http://ex/{n}> <http://ex/p> <http://ex/{n + 1}> .\n" for n in range(200))
    )
    done("load", tmp_path / "kg", tmp_path / "x.nt", "--rules", "none")
    (tmp_path / "y.nt").write_text("<http://ex/x> <http://ex/y> <http://ex/z> .\n")
    return tmp_path / "kg"


def failing(number: int, after: int = 0, only: Callable[[int], bool] = lambda handle: True) -> Callable[[int], None]:
    """An fsync that fails after so many that did not."""
    left, sync = after, os.fsync

    def fsync(handle: int) -> None:
        nonlocal left
        if only(handle):
            left -= 1
            if left < 0:
                raise OSError(number, os.strerror(number))
        sync(handle)

    return fsync


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=["ENOSPC", "EIO", "EDQUOT"])
def test_a_disk_that_fails(kg: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    for after in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing(number, after))
            outcome = run("update", kg, "--add", kg.parent / "y.nt")
        assert outcome.code == 6, outcome
        assert f"{os.strerror(number)}; nothing was committed. Make room on the disk" in outcome.err
        assert f"triplake: {kg}/" in outcome.err
        assert Versions(kg).numbers() == [1, 2]
    done("update", kg, "--add", kg.parent / "y.nt")


def test_a_disk_too_full_for_a_lease(kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left, which others would take for a lease of another machine; the message has a file."""

    def full(path: Path, mode: str, encoding: str) -> IO[str]:
        file = open(path, mode, encoding=encoding)  # noqa: SIM115 it is the caller's
        monkeypatch.setattr(file, "write", fail)
        return file

    def fail(text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = contents(kg)
    with monkeypatch.context() as patch:
        patch.setattr(folder, "open", full, raising=False)
        outcomes = run("update", kg, "--add", kg.parent / "y.nt"), run("init", tmp_path / "new")
    for outcome, lease in zip(outcomes, (kg / "_versions/.lease-", tmp_path / "new/_versions/.making"), strict=True):
        assert outcome.code == 6, outcome
        assert f"triplake: {lease}" in outcome.err
    assert contents(kg) == before
    assert not (tmp_path / "new").exists()
    done("init", tmp_path / "new")


def test_a_disk_that_fails_when_all_is_done(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = os.stat(kg / "_versions")

    def of_the_folder(handle: int) -> bool:
        return os.path.samestat(os.fstat(handle), versions)

    monkeypatch.setattr(os, "fsync", failing(errno.EIO, only=of_the_folder))
    outcome = run("update", kg, "--add", kg.parent / "y.nt")
    assert outcome.code == 6
    assert f"version 3 of {kg} is published, but Input/output error" in outcome.err
    assert "nothing was committed" not in outcome.err
    monkeypatch.undo()
    with Store.open(kg) as store:
        assert store.version == 3
        assert len(list(store.triples())) == 201


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full here")
def test_a_full_disk_that_an_engine_meets(tmp_path: Path) -> None:
    engine = DuckDBEngine()
    (tmp_path / "x.parquet").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"No space left on device; nothing was committed"):
        engine.write("SELECT i, hash(i) AS h FROM range(300000) t(i)", str(tmp_path), "x", [], GROUP)
    engine.close()


ALL = "SELECT * { ?s ?p ?o }"


@pytest.mark.sampled(each=2)
@pytest.mark.parametrize("what", [["query", ALL], ["query", ALL, "--format", "csv"], ["log"], ["export"], ["stats"]])
def test_a_reader_that_goes(kg: Path, what: list[str]) -> None:
    """A pipe that nobody reads any more is no failure, and nothing to tell of."""
    name, *rest = what
    with subprocess.Popen(command(name, kg, *rest), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("said", "file"),
    [
        ("IOException: No space left on device", "a file"),
        ("Job aborted: java.io.IOException: /tmp/spark/x: Input/output error", "/tmp/spark/x"),
        ('{"exception_message":"Could not write file \\"/dev/full\\": No space left on device"}', "/dev/full"),
        ('{"exception_message":"Could not write file \\"a kg/data/x\\": Input/output error"}', "a kg/data/x"),
    ],
    ids=["spark", "spark with a file", "duckdb", "duckdb in a relative folder"],
)
def test_messages_of_engines(said: str, file: str) -> None:
    found = disk_failure(said)
    assert found is not None
    assert str(found).startswith(f"{file}: ")
    assert isinstance(found, StorageError)
    assert disk_failure("a term with no such space") is None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE])
def test_messages_of_engines_that_are_refused_a_file(number: int) -> None:
    said = f'IO Error: Cannot open file "/kg/data/x.parquet": {os.strerror(number)}'
    found = failure(duckdb.IOException(said), "COPY ...")
    assert isinstance(found, UsageError)
    assert str(found) == f"/kg/data/x.parquet: {os.strerror(number)}; nothing was committed"


def _look(versions: Versions) -> None:
    """Read whatever there is to be read of a store in this process."""
    manifest = versions.read()
    for sums in (True, False):
        verify.examine(versions, manifest, sums=sums)
    fact = manifest.files_of("fact").files[0]
    assert list(verify.wrong(versions, [replace(fact, sha256="")], sums=False)) == []  # as older stores have them
    verify.checked(versions, fact)
    PagedFile(versions.place, fact, "spo")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_what_the_system_has_no_more_of_is_no_damage(kg: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Whoever is told of damage brings an old copy back."""

    def refused(*given: object, **options: object) -> str:
        raise OSError(number, os.strerror(number), "x")

    versions = Versions(kg)
    for place, name in ((Folder, "read"), (verify, "sum_of"), (pq, "read_metadata"), (pq, "ParquetFile")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, refused)
            with pytest.raises(OSError, match="x") as raised:
                _look(versions)
            assert raised.value.errno == number


def test_a_limit_of_the_size_of_files(kg: Path) -> None:
    (kg.parent / "many.nt").write_text("".join(f'<urn:s{n}> <urn:p> "{n * 7919:x}" .\n' for n in range(30_000)))
    process = subprocess.run(
        command("load", kg, kg.parent / "many.nt"),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert process.returncode == 6, process.stderr
    assert f"{os.strerror(errno.EFBIG)}; nothing was committed" in process.stderr
    assert "fault" not in process.stderr
    assert Versions(kg).numbers() == [1, 2]


@pytest.mark.parametrize(
    ("sign", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_signals_within_a_statement(kg: Path, tmp_path: Path, sign: signal.Signals, code: int) -> None:
    """Ended with a message, and with nothing left in the folder of temporary files."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        command("query", kg, ENDLESS), stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(scratch)}
    )
    working(process, scratch)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert b"nothing was committed" in err
    assert b"fault" not in err
    assert list(scratch.iterdir()) == []


def test_ctrl_c_reaches_who_uses_the_library() -> None:
    """As itself, not as the RuntimeError that DuckDB makes of it; any other stays what it is."""
    other = RuntimeError("something else")
    assert isinstance(failure(RuntimeError("Query interrupted"), ""), KeyboardInterrupt)
    assert failure(other, "") is other


def test_a_reader_ends_with_an_answer_half_read() -> None:
    engine = DuckDBEngine()
    engine.create("t", "SELECT i AS a FROM range(500000) r(i)")
    reader = engine.reader()
    assert isinstance(reader, DuckDBReader)
    reader.begin()
    half = reader.batches("SELECT a FROM t")
    next(half)
    reader.end()
    reader.begin()
    assert reader.rows("SELECT count(*) FROM t") == [(500000,)]
    with pytest.raises(StoppedError, match="was not read to its end"):
        list(half)
    reader.close()
    engine.close()


@pytest.mark.long_on_spark
def test_a_disk_that_fails_in_either_engine(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from rdflib import URIRef

    store = make_store(["none"])
    a = URIRef("http://ex/a")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(StorageError, match="nothing was committed") as caught:
            store.update(add=[(a, a, a)])
    assert http_error(caught.value).status == http_error(OSError(errno.EIO, "Input/output error")).status == 507
    store.update(add=[(a, a, a)])
    assert len(list(store.triples())) == 1


@pytest.mark.parametrize("interrupted", [True, False], ids=["interrupted", "written on"])
def test_spilled_data_is_removed_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool) -> None:
    """Where a signal interrupts its removal, or a statement that was interrupted writes on meanwhile."""
    remove, folder, attempts = shutil.rmtree, tmp_path / "scratch", list[str]()
    folder.mkdir()

    def once(path: str, **options: bool) -> None:
        attempts.append(path)
        if len(attempts) > 1:
            remove(path, **options)
        elif interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", once)
    with pytest.raises(KeyboardInterrupt) if interrupted else contextlib.nullcontext():
        removed(str(folder))
    assert (len(attempts), folder.exists()) == (2, False)
