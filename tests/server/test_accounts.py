"""Accounts of a file: what the command writes, the server reads and lets do."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.cli import run
from tests.support.server import PEOPLE, add, people, rows, sent, serving
from triplestore.model.errors import InputError
from triplestore.server import accounts, attempts
from triplestore.server.accounts import read_accounts
from triplestore.server.attempts import Attempts, network_of
from triplestore.server.faults import HttpError
from triplestore.server.settings import Access


def basic(name: str, password: str, address: str = "") -> dict[str, str]:
    """The headers of a request with a password. address: as a proxy on this machine passes it on."""
    forwarded = {"X-Forwarded-For": address} if address else {}
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode(), **forwarded}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def account(file: Path, *arguments: str, password: str = "") -> str:
    outcome = run("account", file, *arguments, stdin=f"{password}\n".encode())
    assert outcome.code == 0, outcome.err
    return outcome.out.strip()


class TestCommand:
    def test_add_change_remove(self, tmp_path: Path) -> None:
        file = tmp_path / "accounts"
        account(file, "ann", "--role", "write", password="one")
        token = account(file, "scraper", "--token", "--store", "kg")
        assert len(token) > 30
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "one" not in file.read_text()
        assert token not in file.read_text()
        assert account(file).splitlines() == ["ann\twrite\tpassword\tall stores", "scraper\tread\ttoken\tkg"]
        before = read_accounts(file)["ann"].secret
        account(file, "ann", "--role", "admin")  # asks for no password
        assert read_accounts(file)["ann"].secret == before
        account(file, "ann", password="two")
        assert read_accounts(file)["ann"].secret != before
        file.write_text(f"# mine\n{file.read_text()}")
        account(file, "ann", "--remove")
        assert file.read_text().splitlines()[0] == "# mine"
        assert list(read_accounts(file)) == ["scraper"]

    def test_the_file_stays_its_owners(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The server, which runs as another than root, could not read it any more."""
        given = []
        monkeypatch.setattr(os, "chown", lambda path, user, group: given.append((user, group)))
        account(tmp_path / "accounts", "ann", password="one")
        assert given == []
        account(tmp_path / "accounts", "bob", password="two")
        assert given == [(os.getuid(), (tmp_path / "accounts").stat().st_gid)]

    def test_a_file_of_another_place(self, tmp_path: Path) -> None:
        """A link stays one; what an editor puts before the first name is not part of it."""
        (tmp_path / "link").symlink_to(tmp_path / "accounts")
        account(tmp_path / "link", "ann", password="one")
        (tmp_path / "accounts").write_text((tmp_path / "accounts").read_text(), encoding="utf-8-sig")
        account(tmp_path / "link", "bob", password="two")
        assert (tmp_path / "link").is_symlink()
        assert list(read_accounts(tmp_path / "accounts")) == ["ann", "bob"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["a:b"], "cannot be a name"),
            (["ann", "--store", "a,b"], "--store takes the name"),
            (["ann", "--store", "a\nb"], "--store takes the name"),
            (["ann", "--remove"], "has no account ann"),
            (["ann"], "no password was given"),
            ([], "there is no such file yet"),
            (["--role", "read"], "which account?"),
        ],
    )
    def test_wrong_usage(self, tmp_path: Path, arguments: list[str], message: str) -> None:
        outcome = run("account", tmp_path / "accounts", *arguments, stdin=b"\n")
        assert outcome.code == 2
        assert message in outcome.err
        assert not (tmp_path / "accounts").exists()

    def test_no_folder(self, tmp_path: Path) -> None:
        outcome = run("account", tmp_path / "none" / "accounts", "ann", stdin=b"pw\n")
        assert outcome.code == 2
        assert "there is no such folder" in outcome.err

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("ann", "another number of parts"),
            ("ann:boss:x", "not a role: there are read, write, admin"),
            ("ann:read:password", "the secret is none"),
            (f"ann:read:sha256${'0' * 64}:a:b", "another number of parts"),
            (f"a n:read:sha256${'0' * 64}", "cannot be a name"),
        ],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, line: str, message: str) -> None:
        file = tmp_path / "accounts"
        file.write_text(f"# who\n{line}\n")
        with pytest.raises(InputError, match=message) as found:
            read_accounts(file)
        assert found.value.line == 2


class TestServer:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "accounts"
        for name, role in (("reader", "read"), ("writer", "write"), ("boss", "admin")):
            account(file, name, "--role", role, password=f"{name}'s pässword")
        return file

    @pytest.mark.parametrize("protect", [False, True])
    def test_roles(self, store: Path, file: Path, protect: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attempts, "BURST", 1_000)
        token = account(file, "program", "--token", "--role", "write")
        access = Access(accounts=str(file), protect_reads=protect)
        with serving(store, access=access) as client:

            def statuses(headers: dict[str, str]) -> list[int]:
                asked = [
                    client.get("/sparql", params={"query": PEOPLE}, headers=headers),
                    sent(client, add("a"), **headers),
                    client.get("/admin/requests", headers=headers),
                    client.get("/metrics", headers=headers),
                ]
                return [answer.status_code for answer in asked]

            open_reads = 401 if protect else 200
            assert statuses({}) == [open_reads, 401, 401, open_reads]
            for _ in range(2):  # the second time it is remembered
                assert statuses(basic("reader", "reader's pässword")) == [200, 403, 403, 200]
                assert statuses(basic("writer", "writer's pässword")) == [200, 200, 403, 200]
                assert statuses(basic("boss", "boss's pässword")) == [200, 200, 200, 200]
                assert statuses(basic("boss", "reader's pässword")) == [401] * 4
                assert statuses(basic("nobody", "")) == [401] * 4
                assert statuses(bearer(token)) == [200, 200, 403, 200]
                assert statuses(bearer(token[:-1])) == [401] * 4

    def test_an_account_of_another_store(self, store: Path, file: Path) -> None:
        """One store is called as its folder is."""
        own, other = (account(file, name, "--token", "--store", name) for name in (store.name, "other"))
        with serving(store, access=Access(accounts=str(file))) as client:
            asked = {"url": "/sparql", "params": {"query": PEOPLE}}
            assert client.get(**asked, headers=bearer(own)).status_code == 200
            refused = client.get(**asked, headers=bearer(other))
            assert (refused.status_code, refused.text) == (403, f"other has no account for {store.name}\n")
            assert client.get(**asked).status_code == 200  # reads need none here

    def test_reload(self, store: Path, file: Path) -> None:
        boss, reader = basic("boss", "boss's pässword"), basic("reader", "reader's pässword")
        with serving(store, access=Access(accounts=str(file))) as client:
            assert sent(client, add("b"), **reader).status_code == 403
            account(file, "reader", "--role", "write")
            assert client.post("/admin/reload", headers=reader).status_code == 403
            assert client.post("/admin/reload", headers=boss).json() == {"accounts": 3}
            assert sent(client, add("b"), **reader).status_code == 200
            account(file, "reader", "--remove")
            file.write_text(f"{file.read_text()}nonsense\n")
            refused = client.post("/admin/reload", headers=boss)
            assert refused.status_code == 400
            assert "accounts:3: no account" in refused.text
            assert sent(client, add("c"), **reader).status_code == 200  # those before stay
            file.write_text("\n".join(file.read_text().splitlines()[:-1]))
            assert client.post("/admin/reload", headers=boss).status_code == 200
            assert sent(client, add("d"), **reader).status_code == 401
            assert people(client) == ["a", "b", "c"]

    def test_no_administration_where_nobody_identifies(self, store: Path) -> None:
        with serving(store, access=Access()) as client:  # as with --insecure
            assert client.get("/admin/requests").status_code == 403
        with serving(store) as client:
            assert client.get("/admin/requests").json() == {"requests": []}


def test_rows_of_a_reader(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "accounts"
    account(file, "ann", password="x:y")
    with serving(store, access=Access(accounts=str(file), protect_reads=True)) as client:
        answer: httpx.Response = client.get("/sparql", params={"query": PEOPLE}, headers=basic("ann", "x:y"))
        assert len(rows(answer)) == 1


class TestGuessing:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        account(tmp_path / "accounts", "ann", "--role", "write", password="pässword")
        return tmp_path / "accounts"

    @pytest.fixture
    def hashed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The passwords that scrypt was computed of."""
        found = list[str]()
        scrypt = accounts._scrypt

        def noted(password: str, cost: int, salt: bytes) -> bytes:
            found.append(password)
            return scrypt(password, cost, salt)

        monkeypatch.setattr(accounts, "_scrypt", noted)
        return found

    def test_a_wrong_password_is_as_much_work_for_any_name(self, store: Path, file: Path, hashed: list[str]) -> None:
        access = Access(accounts=str(file), users=(("carl", "s3cret"),), protect_reads=True)
        with serving(store, access=access) as client:
            for number, name in enumerate(("ann", "carl", "nobody", "")):
                answer = client.get("/stats", headers=basic(name, f"wrong{number}"))
                assert (answer.status_code, len(hashed)) == (401, number + 1), name

    def test_many_wrong_passwords(
        self, store: Path, file: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At once: a few are looked at, and others are not kept waiting."""
        with serving(store, access=Access(accounts=str(file))) as client, ThreadPoolExecutor(40) as threads:

            def guess(number: int) -> httpx.Response:
                return client.get("/stats", headers=basic("ann", f"wrong{number}", "10.0.0.1"))

            answers = [*threads.map(guess, range(40))]
            assert Counter(answer.status_code for answer in answers) == {401: attempts.BURST, 429: 40 - attempts.BURST}
            assert len(hashed) == attempts.BURST
            (late, *_) = [answer for answer in answers if answer.status_code == 429]
            assert 0 < int(late.headers["retry-after"]) <= attempts.SECONDS
            assert "too many wrong passwords" in late.text
            right = "pässword"
            assert client.get("/stats", headers=basic("ann", right, "10.0.0.2")).status_code == 200
            assert client.get("/stats", headers=basic("ann", right, "10.0.0.1")).status_code == 429, (
                "or it could go on guessing"
            )
            token = {"Authorization": "Bearer s3cret", "X-Forwarded-For": "10.0.0.1"}
            assert client.get("/stats", headers=token).status_code == 429
            assert client.get("/stats", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 200
            monkeypatch.setattr(attempts, "SECONDS", 0.001)
            assert client.get("/stats", headers=basic("ann", right, "10.0.0.1")).status_code == 200

    def test_many_wrong_tokens(self, store: Path) -> None:
        with serving(store, access=Access(tokens=("s3cret",))) as client:
            wrong = [client.get("/stats", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(15)]
            assert wrong == [401] * attempts.BURST + [429] * (15 - attempts.BURST)

    def test_many_right_ones_at_once(self, store: Path, file: Path, hashed: list[str]) -> None:
        """As of a client that opens all its connections together."""
        with serving(store, access=Access(accounts=str(file))) as client, ThreadPoolExecutor(40) as threads:
            answers = threads.map(lambda _: client.get("/stats", headers=basic("ann", "pässword")), range(40))
            assert {answer.status_code for answer in answers} == {200}
        assert 1 <= len(hashed) <= 2


class TestAttempts:
    @staticmethod
    async def wrong(table: Attempts, address: str, times: int = 1) -> None:
        for _ in range(times):
            async with table.counted(address):
                pass

    def test_one_more_after_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr(attempts.time, "monotonic", lambda: now[0])
        table = Attempts()
        asyncio.run(self.wrong(table, "a", attempts.BURST))
        for _ in range(3):
            with pytest.raises(HttpError) as refused:
                table.check("a")
            assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": str(int(attempts.SECONDS))})
            table.check("b")
            now[0] += attempts.SECONDS
            asyncio.run(self.wrong(table, "a"))

    def test_right_ones_do_not_count(self) -> None:
        table = Attempts()

        async def right() -> None:
            for _ in range(100):
                async with table.counted("a"):
                    table.right("a")

        asyncio.run(right())
        table.check("a")

    def test_a_right_one_pardons_no_wrong_one(self) -> None:
        """Or whoever has an account could guess the passwords of others."""
        table = Attempts()

        async def both() -> None:
            for _ in range(attempts.BURST):
                await self.wrong(table, "a")
                async with table.counted("a"):
                    table.right("a")

        with pytest.raises(HttpError):
            asyncio.run(both())

    def test_few_addresses_are_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attempts, "ADDRESSES", 10)
        table = Attempts()
        for number in range(100):
            asyncio.run(self.wrong(table, f"10.0.0.{number}"))
            asyncio.run(self.wrong(table, "10.1.1.1") if number < attempts.BURST else asyncio.sleep(0))
        assert len(table) == 10

    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("-", "-"),
        ],
    )
    def test_whose_attempts_count_together(self, address: str, network: str) -> None:
        assert network_of(address) == network
