"""What keeps a server running: metrics, several stores, backups, requests that are seen and stopped, its settings."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from rdflib import RDF, URIRef

from tests.support.cli import command, run
from tests.support.server import (
    EX,
    OPEN,
    PATIENCE,
    add,
    answering,
    counted,
    eventually,
    people,
    sent,
    served,
    serving,
    spoken,
    students,
)
from triplestore import Store
from triplestore.cli.options import pair_of
from triplestore.model.errors import UsageError
from triplestore.server.served import Served
from triplestore.server.settings import Certificate, Settings, named_stores
from triplestore.server.work import Service

ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {' '.join(f'?a{i} ?b{i} ?c{i} .' for i in range(12))} FILTER(?c0 != ?c11) }}"


def test_metrics(store: Path) -> None:
    with serving(store) as client:
        people(client)
        people(client)
        sent(client, "SELECT", "application/sparql-query")
        sent(client, add("b"))
        client.get("/nonsense/1")
        client.get("/nonsense/2")
        assert spoken(client, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[0] == 404
        found = counted(client)
        requests = {key[1:]: value for key, value in found.items() if key[0] == "triplake_requests_total"}
        assert requests == {
            ("sparql", "GET", "200", ""): 2,
            ("sparql", "POST", "400", ""): 1,
            ("sparql", "POST", "200", ""): 1,
            ("other", "GET", "404", ""): 2,
            ("other", "OPTIONS", "404", ""): 1,
        }
        assert found["triplake_request_seconds_count", "sparql", ""] == 4
        assert found["triplake_request_seconds_sum", "sparql", ""] > 0
        assert found["triplake_version", ""] == json.loads(client.get("/health").text)["version"]
        assert found["triplake_disk_free_bytes", ""] > 0
        assert found["process_resident_memory_bytes",] > 0


def test_several_stores(tmp_path: Path) -> None:
    one, two = students(tmp_path / "one"), students(tmp_path / "two")
    with answering({"one": served(one), "two": served(two)}) as client:
        assert 'href="one/"' in client.get("/").text
        assert client.get("/health").json() == {"status": "ok", "stores": 2}
        assert client.get("/two").headers["location"] == "/two/"
        for name in ("one", "two"):
            assert client.get(f"/{name}/static/app.css").status_code == 200
            assert "main.js" in client.get(f"/{name}/").text
            assert client.get(f"/{name}/openapi.json").json()["servers"] == [{"url": f"/{name}"}]
        insert = {"content": add("b").encode(), "headers": {"Content-Type": "application/sparql-update"}}
        assert client.post("/one/sparql", **insert).json()["added"] > 0
        base = str(client.base_url).rstrip("/")
        with httpx.Client(base_url=f"{base}/one", timeout=PATIENCE) as first:
            assert people(first) == ["a", "b"]
            made = first.put("/data?graph=http://ex/g", content=b"<urn:a> <urn:b> 1 .", headers=_TURTLE)
            assert made.status_code == 201
            assert made.headers["location"] == f"{base}/one/data?graph=http%3A%2F%2Fex%2Fg"
            own = first.put("/data/mine", content=b"<urn:a> <urn:b> 2 .", headers=_TURTLE)
            assert own.headers["location"] == f"{base}/one/data/mine"
            assert first.get("/data/mine").status_code == 200
            assert first.put("/data/two%0Alines", content=b"<urn:a> <urn:b> 3 .", headers=_TURTLE).status_code == 201
            assert "3" in first.get("/data/two%0Alines").text
        with httpx.Client(base_url=f"{base}/two", timeout=PATIENCE) as second:
            assert people(second) == ["a"]
        found = counted(client)
        assert found["triplake_version", "one"] > found["triplake_version", "two"]
        assert found["triplake_requests_total", "sparql", "GET", "200", "two"] == 1
        assert client.get("/three/sparql").status_code == 404
    with Store.open(one) as opened:
        assert opened.version > 1


_TURTLE = {"Content-Type": "text/turtle"}


class TestNames:
    def test_with_paths(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Both may have an equals sign, as folders that Hive has named."""
        (tmp_path / "p=1" / "kg=2").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)
        for name, path in ("", "p=1/kg=2"), ("kg", "p=1/kg=2"), ("http://e/s?x=1", "p=1"), ("kg", "s3://lake/p=1/kg"):
            assert pair_of(f"{name}={path}" if name else path) == (name, path)
        assert pair_of("s3://lake/p=1/kg") == ("", "s3://lake/p=1/kg")
        assert pair_of("<http://e/s>=none") == ("http://e/s", "none")
        assert pair_of("a=b=") == ("a=b", "")

    def test_of_stores(self) -> None:
        assert named_stores([("", "/a/kg/")]) == {"": "/a/kg/"}
        assert named_stores([("x", "/a/kg")]) == {"x": "/a/kg"}
        assert named_stores([("", "/a/kg/"), ("x", "s3://b/y")]) == {"kg": "/a/kg/", "x": "s3://b/y"}

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "which store"),
            ([("", "a/kg"), ("", "b/kg")], "two stores would be at /kg/"),
            ([("", "a"), ("", "..")], "cannot be a store's name"),
            ([("metrics", "a"), ("", "b")], "cannot be a store's name"),
            ([("a/b", "a")], "cannot be a store's name"),
        ],
    )
    def test_that_cannot_be(self, given: list[tuple[str, str]], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            named_stores(given)


def certified(folder: Path) -> None:
    """Make a certificate of this machine in a folder, and its key."""
    subprocess.run(
        [*("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
         *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip


def test_a_certificate_whose_key_is_not_there_yet_changes_nothing(tmp_path: Path) -> None:
    """Whoever renews both writes one of them first."""
    certified(tmp_path)
    certificate = Certificate(str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    context = certificate.context()
    (tmp_path / "next").mkdir()
    certified(tmp_path / "next")
    (tmp_path / "next" / "cert.pem").rename(tmp_path / "cert.pem")
    with pytest.raises(UsageError, match="not a certificate and its key"):
        certificate.use(context)
    answers, asks = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(asks, answers, server_side=True)
    client = trusting.wrap_bio(answers, asks, server_hostname="127.0.0.1")
    for side in (client, server, client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert client.getpeercert()


def test_a_query_is_seen_and_stopped(store: Path) -> None:
    with Store.open(store) as opened:
        opened.sparql_update("INSERT DATA {" + "".join(f"<{EX}{n}> <{EX}p> {n} ." for n in range(400)) + "}")
    with serving(store) as client:
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(client.get("/sparql", params={"query": ENDLESS})))
        asking.start()
        with httpx.Client(base_url=client.base_url, timeout=PATIENCE) as other:
            eventually(lambda: bool(other.get("/admin/requests").json()["requests"]))
            (running,) = other.get("/admin/requests").json()["requests"]
            assert running["query"] == ENDLESS
            assert running["path"] == "/sparql"
            assert other.delete(f"/admin/requests/{running['number']}").json() == {"stopped": running["number"]}
            asking.join(PATIENCE)
            assert answers[0].status_code == 503
            assert "stopped by who runs the server" in answers[0].text
            eventually(lambda: not other.get("/admin/requests").json()["requests"])
            for number in running["number"], "x", 5_000 * "9":
                assert other.delete(f"/admin/requests/{number}").status_code == 404


def test_a_store_that_is_replaced(store: Path, tmp_path: Path) -> None:
    """What is found once for each version is found again in another store whose version has the same number."""
    with Store.create(tmp_path / "other", ["owl2rl"]) as other:
        other.update(add=[(URIRef(EX + "a"), RDF.type, URIRef(f"{EX}C{number}")) for number in range(3)])
    with serving(store) as client:
        before = client.get("/stats").json()
        store.rename(tmp_path / "before")
        (tmp_path / "other").rename(store)
        eventually(lambda: not people(client))
        after = client.get("/stats").json()
        assert after["version"] == before["version"]
        assert (before["asserted"], after["asserted"]) == (2, 3)


class TestSettings:
    def started(self, *arguments: str | Path, **environment: str) -> tuple[subprocess.Popen[str], str, list[str]]:
        """A server, its address, and its first lines."""
        process = subprocess.Popen(
            command("serve", *arguments), stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )
        assert process.stderr
        lines: list[str] = []
        while "serving on" not in (line := process.stderr.readline()):
            assert line, lines
            lines.append(line)
        found = re.search(r"https?://\S+/", line)
        assert found
        return process, found.group(), [*lines, line]

    def test_file_environment_and_command_line(self, store: Path, tmp_path: Path) -> None:
        folder = tmp_path / "etc"
        folder.mkdir()
        certified(folder)
        run("account", folder / "who", "ann", "--role", "write", stdin=b"pw\n")
        text = """
            port = 1
            accounts = "who"
            protect-reads = true
            timeout = 7
            max-rows = 5
            tls-certificate = "cert.pem"
            tls_key = "key.pem"
            cors = ["https://a.example", "https://B.example/"]
            json-log = true
        """
        (folder / "triplake.toml").write_text(text + f"[stores]\nkg = '{store}'\nsecond = '{store}'\n")
        process, address, lines = self.started(
            *("--config", folder / "triplake.toml", "--port", "0"), TRIPLAKE_MAX_ROWS="1", TRIPLAKE_TOKEN="a token\n"
        )
        try:
            assert address.startswith("https://")
            assert {json.loads(line)["level"] for line in lines} == {"info"}
            context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
            with httpx.Client(base_url=address, verify=context, auth=("ann", "pw"), timeout=PATIENCE) as client:
                assert client.get("/kg/stats", auth=("ann", "no")).status_code == 401
                for token, status in (("a token", 200), ("token", 401), ("a", 401)):
                    headers = {"Authorization": f"Bearer {token}"}
                    assert client.get("/kg/stats", auth=None, headers=headers).status_code == status
                many = client.get("/second/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
                assert "more than 1 row" in many.text  # the environment's, not the file's
                shared = client.get("/kg/health", headers={"Origin": "https://b.example"})
                assert shared.headers["access-control-allow-origin"] == "https://b.example"
                run("account", folder / "who", "ann", "--remove")
                process.send_signal(signal.SIGHUP)
                eventually(lambda: client.get("/kg/stats").status_code == 401)
        finally:
            process.terminate()
            _, rest = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "read again: accounts (0)" in rest
        assert all(json.loads(line) for line in rest.splitlines())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("max-rows = 'x'", "Invalid value for '--max-rows'"),
            ("prot = 1", "there is no option prot; did you mean port?"),
            ("read-only = 1", "read-only is true or false"),
            ("port = [1]", "port is one value"),
            ("cors = {}", "cors is a list of values"),
            ("port = ", "is not TOML"),
            ("stores = 'kg'", "stores is a table"),
            ("tls-key = 'k'", "give both --tls-certificate and --tls-key"),
            ("tls-key = 'k'\ntls-certificate = 'c'", "TLS needs a certificate and its key"),
            ("backup-every = '1h'", "needs --backup FOLDER"),
            ("backup = 'b'\nbackup-every = 'soon'", "'soon' is not a duration"),
            ("accounts = 'none'", "`triplake account` makes them"),
        ],
    )
    def test_a_file_that_is_wrong(self, store: Path, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "t.toml").write_text(text)
        outcome = run("serve", store, "--port", "0", "--config", tmp_path / "t.toml")
        assert outcome.code == 2
        assert message in outcome.err
        assert "Traceback" not in outcome.err

    def test_no_store(self) -> None:
        assert "which store?" in run("serve").err


class TestShapes:
    SHAPE = f"""
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        <{EX}Named> a sh:NodeShape ; sh:targetClass <{EX}Person> ;
          sh:property [ sh:path <{EX}name> ; sh:minCount 1 ] .
    """

    def test_what_does_not_conform_is_refused_alone(self, store: Path, tmp_path: Path) -> None:
        file = tmp_path / "shapes.ttl"
        file.write_text(self.SHAPE)
        named = Settings(access=OPEN, shapes=(str(file),))
        with Store.open(store) as opened:
            opened.sparql_update(f"INSERT DATA {{ <{EX}a> <{EX}name> 'a' }}")
        with answering({"": Served(Service(store, named, engine="duckdb", memory_limit="1GB"))}) as client:
            refused = sent(client, add("b"))
            assert refused.status_code == 422
            assert f"{EX}b" in refused.text
            assert people(client) == ["a"]
            graph = client.post("/data?default", content=f"<{EX}c> a <{EX}Student> .".encode(), headers=_TURTLE)
            assert graph.status_code == 422
            updates = [add("d"), f"INSERT DATA {{ <{EX}e> a <{EX}Student> ; <{EX}name> 'e' }}", add("f")]
            statuses: list[int] = []
            asking = [
                threading.Thread(target=lambda text=text: statuses.append(sent(client, text).status_code))
                for text in updates
            ]
            for one in asking:
                one.start()
            for one in asking:
                one.join(PATIENCE)
            assert sorted(statuses) == [200, 422, 422]
            assert people(client) == ["a", "e"]

    def test_wrong_shapes(self, store: Path, tmp_path: Path) -> None:
        file = tmp_path / "shapes.ttl"
        file.write_text("<urn:a> <urn:b> ")
        outcome = run("serve", store, "--port", "0", "--shapes", file)
        assert outcome.code == 3
        assert f"{file}:1:" in outcome.err
        assert "no such file" in run("serve", store, "--port", "0", "--shapes", tmp_path / "none.ttl").err
