"""Stores on a server of S3, by the commands and by many processes."""

from __future__ import annotations

import bz2
import gzip
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from rdflib import RDF, RDFS

from tests.support.buckets import E, content, made, unavailable, whole
from tests.support.cli import done, run
from triplestore import objects
from triplestore.model.errors import StorageError
from triplestore.objects import cloud
from triplestore.storage.vacuum import vacuum
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions


class TestS3:
    """A server of S3, by the commands."""

    def test_commands(self, s3: str, tmp_path: Path) -> None:
        kg, file = f"{s3}/deep/kg", tmp_path / "x.nt"
        file.write_text(f"<{E.a}> <{RDF.type}> <{E.A}> .\n<{E.A}> <{RDFS.subClassOf}> <{E.B}> .\n")
        done("load", kg, file)
        assert "yes" in done("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}")
        done("update", kg, "--delete", file)
        assert "no" in run("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}").out
        done("restore", kg, "--to", "2")
        done("backup", kg, f"{s3}/backup")
        done("restore", f"{s3}/again", "--from", f"{s3}/backup")
        assert "yes" in done("query", f"{s3}/again", f"ASK {{ <{E.a}> a <{E.B}> }}")
        assert "4 versions whole" in run("verify", kg, "--deep").err
        done("vacuum", kg, "--keep-versions", "1")
        outcome = run("query", f"{s3}/none", "ASK {}")
        assert outcome.code == 2
        assert f"{s3}/none is not a Triplake store" in outcome.err

    def test_what_tools_put_in_place_of_folders(self, s3: str) -> None:
        """An empty object whose name ends in a slash: it is not in the way of a store, and none of its files."""
        bucket = boto3.resource("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"]).Bucket(s3.removeprefix("s3://"))
        bucket.put_object(Key="kg/")
        done("init", f"{s3}/kg", "--rules", "none")
        for folder in ("data", "_versions"):
            bucket.put_object(Key=f"kg/{folder}/")
        assert verify(Versions(f"{s3}/kg")).strays == ()

    def test_a_bucket_that_is_not_there(self, s3: str, tmp_path: Path) -> None:
        for command in (["init"], ["query", "ASK {}"], ["load", tmp_path / "x.nt"]):
            outcome = run(command[0], f"{s3}-none/kg", *command[1:])
            assert outcome.code == 6
            assert f"{s3}-none/kg" in outcome.err
            assert "there is no such bucket (" in outcome.err
            assert "404 Not Found: NoSuchBucket: The specified bucket does not exist). See to its name" in outcome.err
            assert "secret-of-the-test" not in outcome.err

    def test_a_server_that_does_not_answer(
        self, s3: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setattr(cloud, "QUIET", 0.1)
        monkeypatch.setenv(objects.PATIENCE, "1")
        outcome = run("query", f"{s3}/kg", "ASK {}")
        assert outcome.code == 6
        assert "See to the network" in outcome.err
        assert f"{s3}/kg/triplake.json: no answer for 0 seconds" in caplog.text

    def test_a_refusal_has_its_reason(self, s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the answer, which is of several lines, and may have what is secret."""
        answer = (
            '<?xml version="1.0"?>\n<Error><Code>SignatureDoesNotMatch</Code>\n<Message>The signature of '
            "http://ex/x?X-Secret=opensesame differs</Message><StringToSign>opensesame</StringToSign></Error>"
        )
        with unavailable(0, 403, answer) as (address, _):
            monkeypatch.setenv("AWS_ENDPOINT_URL", address)
            outcome = run("query", f"{s3}/kg", "ASK {}")
        assert outcome.code == 2
        assert "403 Forbidden: SignatureDoesNotMatch: The signature of http://ex/x differs)" in outcome.err
        assert "opensesame" not in outcome.err

    @pytest.mark.parametrize(
        ("name", "value", "code", "message"),
        [
            ("AWS_ENDPOINT_URL", "localhost:9000", 2, "AWS_ENDPOINT_URL is 'localhost:9000': give https://HOST:PORT"),
            ("AWS_ENDPOINT_URL_S3", "", 2, "AWS_ENDPOINT_URL_S3 is '': give https://HOST:PORT"),
            ("AWS_ENDPOINT", "me:opensesame@localhost", 2, "AWS_ENDPOINT is 'localhost': give https://HOST:PORT"),
            ("AWS_ALLOW_HTTP", "perhaps", 2, "set AWS_ALLOW_HTTP=true"),
            (objects.PATIENCE, "9" * 20, 2, "give a number of seconds"),
            (objects.PATIENCE, "x", 2, "TRIPLAKE_PATIENCE is 'x': give a number of seconds"),
            ("AWS_ALLOW_HTTP", "no", 2, "AWS_ENDPOINT_URL is an address without TLS, http://: set AWS_ALLOW_HTTP=true"),
            ("AWS_ENDPOINT_URL", "http://[bad", 6, "kg/triplake.json: obstore failed (request valid: InvalidUri"),
        ],
    )
    def test_what_is_wrong_with_the_environment(
        self, s3: str, name: str, value: str, code: int, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(name, value)
        outcome = run("query", f"{s3}/kg", "ASK {}")
        assert outcome.code == code, outcome.err
        assert message in outcome.err
        assert "restore" not in outcome.err
        assert "opensesame" not in outcome.err

    @pytest.mark.parametrize("patience", ["60", "0"])
    def test_an_outage_is_waited_for(self, patience: str, s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the time, not by the number of the requests that it takes."""
        monkeypatch.setenv(objects.PATIENCE, patience)
        monkeypatch.setattr(cloud, "PAUSE", 0.01)
        with unavailable(30) as (address, asked):
            monkeypatch.setenv("AWS_ENDPOINT_URL", address)
            with pytest.raises(FileNotFoundError if patience == "60" else StorageError):
                objects.opened(s3).get("x")
            assert len(asked) == (31 if patience == "60" else 1)

    def test_an_outage_is_ended_by_a_signal(self, s3: str) -> None:
        with unavailable(1 << 20) as (address, asked):
            command = [sys.executable, "-m", "triplestore.cli", "query", f"{s3}/kg", "ASK {}"]
            running = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "AWS_ENDPOINT_URL": address})
            asked.wait()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=30)
        assert (running.returncode, b"nothing was committed" in said) == (130, True), said

    def test_files_are_loaded(self, s3: str, tmp_path: Path) -> None:
        """By their URLs, of folders and by wildcards too, in every syntax, packed or not."""
        line = f"<{E}%s> <{E.p}> <{E.b}> .\n"
        files = {
            "in/a.nt": (line % "a").encode(),
            "in/b.nt.gz": gzip.compress((line % "b").encode()),
            "in/deep/c.nt.bz2": bz2.compress((line % "c").encode()),
            "in/d.ttl": f"<d> <{E.p}> <{E.b}> .".encode(),
            "in/notes.txt": b"?",
            "bad.nt": (line % "x").encode() + b"<http://ex/y> nonsense .\n",
        }
        bucket = objects.opened(s3)
        for name, content_ in files.items():
            bucket.put(name, content_)
        for number, (given, subjects) in enumerate(
            (("in/a.nt", "a"), ("in/*.nt", "a"), ("in/[abd].*", "abd"), ("in", "abcd"), ("in/", "abcd"))
        ):
            kg = tmp_path / str(number)
            outcome = run("load", kg, f"{s3}/{given}", "--rules", "none")
            assert outcome.code == 0
            assert ("not read: " in outcome.err) == (subjects == "abcd")
            found = {line.split()[0] for line in done("export", kg).splitlines()}
            assert found == {f"<{s3}/in/d>" if name == "d" else f"<{E}{name}>" for name in subjects}
        keys = boto3.resource("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"]).Bucket(s3.removeprefix("s3://"))
        keys.put_object(Key="odd//x.nt")
        for given, code, message in (
            ("bad.nt", 3, f"{s3}/bad.nt:2:"),
            ("none.nt", 3, f"{s3}/none.nt: there is no such object or folder"),
            ("in/*.trig", 3, f"{s3}/in/*.trig: there is no such object"),
            ("in//a.nt", 2, f"{s3}/in//a.nt has a part that is empty, . or .."),
            ("./bad.nt", 2, f"{s3}/./bad.nt has a part that is empty, . or .."),
            ("odd", 6, "rename it, or name files one by one"),
            ("in/notes.txt", 2, f"{s3}/in/notes.txt: its suffix does not tell the RDF syntax"),
        ):
            outcome = run("load", tmp_path / "none", f"{s3}/{given}")
            assert outcome.code == code
            assert message in outcome.err
        assert run("load", tmp_path / "kg", f"{s3}/bad.nt", "--on-error", "skip").code == 3
        done("update", tmp_path / "kg", "--delete", f"{s3}/in/a.nt")

    @pytest.mark.long
    def test_many_processes_write(self, s3: str) -> None:
        made(f"{s3}/kg", 0)
        program = (
            "import sys; from rdflib import URIRef; from triplestore import Store\n"
            f"with Store.open({f'{s3}/kg'!r}) as store:\n"
            "    for n in range(3): store.update(add=[(URIRef(f'http://ex/{sys.argv[1]}-{n}'),) * 3])"
        )
        writers = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(3)]
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        found = {row[0] for row in content(f"{s3}/kg") if "-" in row[0]}
        assert {f"{E}{w}-{n}" for w in range(3) for n in range(3)} <= found
        whole(f"{s3}/kg")

    @pytest.mark.parametrize("times", [2, pytest.param(25, marks=pytest.mark.long)])
    def test_killed(self, s3: str, times: int, tmp_path: Path) -> None:
        """Whenever a load dies, there is the version before it, or after it; the next one works."""
        file, kg, dice = tmp_path / "x.nt", f"{s3}/kg", random.Random(times)
        file.write_text("".join(f"<{E}s{n}> <{E.p}> <{E}o{n}> .\n" for n in range(500)))
        loaded = 0
        for turn in range(times):
            process = subprocess.Popen(
                [sys.executable, "-m", "triplestore.cli", "load", kg, str(file), "-q"], stderr=subprocess.PIPE
            )
            time.sleep(dice.uniform(0.2, 2.5))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if Versions(kg).numbers():
                whole(kg)
                rows = sum(row[1] == str(E.p) for row in content(kg))
                assert rows in (loaded, 500), turn
                loaded = rows
        done("load", kg, file)
        assert sum(row[1] == str(E.p) for row in content(kg)) == 500
        vacuum(Versions(kg))
        whole(kg)
