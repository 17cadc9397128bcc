"""Who may do what: accounts of the command line and of a file, and what proves to be one of them.

A line of the file is NAME:ROLE:SECRET, or NAME:ROLE:SECRET:STORE,STORE where the account is for these stores alone. A
secret is what a password gives by scrypt (RFC 7914), or what a token, which is long and random, gives by SHA-256.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from triplestore.engine.disk import naming
from triplestore.model.errors import InputError, UsageError
from triplestore.model.thresholds import SIZES
from triplestore.server.attempts import Attempts, network_of

NAME: Final = re.compile(r"[^\s:,#][^\s:,]*")
"""What an account may be called: basic authentication ends a name with a colon."""

COST: Final = 1 << 14
"""The cost of scrypt: a password takes 16 MiB and a thirtieth of a second."""

_BLOCK: Final = 8


class Role(IntEnum):
    """What an account may do; each may do what those before it may."""

    READ = 1
    WRITE = 2
    ADMIN = 3


ROLES: Final[Mapping[str, Role]] = {role.name.lower(): role for role in Role}


@dataclass(frozen=True, slots=True)
class Account:
    """One who may use a server. secret: `sha256$HEX` or `scrypt$COST$SALT$HEX`; stores: their names; empty: any."""

    name: str
    role: Role
    secret: str
    stores: tuple[str, ...] = ()

    def of(self, store: str) -> bool:
        """Whether the account is for a store."""
        return not self.stores or store in self.stores

    def line(self) -> str:
        """The account as the file has it."""
        parts = [self.name, self.role.name.lower(), self.secret, *filter(None, [",".join(self.stores)])]
        return ":".join(parts)


def by_password(password: str) -> str:
    """The secret of a password."""
    salt = secrets.token_bytes(16)
    return f"scrypt${COST}${salt.hex()}${_scrypt(password, COST, salt).hex()}"


def by_token(token: str) -> str:
    """The secret of a token."""
    return f"sha256${hashlib.sha256(token.encode()).hexdigest()}"


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def proves(secret: str, given: str) -> bool:
    """Whether a password or token is the one of a secret, in a time that tells nothing of where it differs."""
    kind, *parts = secret.split("$")
    if kind == "sha256":
        return hmac.compare_digest(by_token(given), secret)
    cost, salt, digest = parts
    return hmac.compare_digest(_scrypt(given, int(cost), bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, cost: int, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=_BLOCK, p=1, maxmem=256 * cost * _BLOCK, dklen=32)


_NOBODY: Final = f"scrypt${COST}${'0' * 32}${'0' * 64}"
"""A secret that no password has, for names without an account: checking a password takes the same time then."""

_SECRET: Final = re.compile(r"sha256\$[0-9a-f]{64}|scrypt\$[0-9]{1,7}\$[0-9a-f]{32}\$[0-9a-f]{64}")


def read_accounts(file: str | Path) -> dict[str, Account]:
    """The accounts in a file, by name. Raises InputError with the line of what is none, UsageError without the file."""
    try:
        lines = Path(file).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise UsageError(f"the accounts in {file} cannot be read: {reason}; `triplake account` makes them") from error
    found: dict[str, Account] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, role, secret, stores, *more = (*line.strip().split(":"), "", "", "")
        wrong = (
            "it has another number of parts"
            if any(more) or not secret
            else f"'{name}' cannot be a name"
            if not NAME.fullmatch(name)
            else f"'{role}' is not a role: there are {', '.join(ROLES)}"
            if role not in ROLES
            else "the secret is none that `triplake account` makes"
            if not _SECRET.fullmatch(secret)
            else f"'{name}' is there twice"
            if name in found
            else None
        )
        if wrong:
            raise InputError(f"no account, NAME:ROLE:SECRET[:STORE,..]: {wrong}", str(file), number)
        found[name] = Account(name, ROLES[role], secret, tuple(filter(None, stores.split(","))))
    return found


def write_accounts(file: str | Path, changed: Account | None, removed: str | None = None) -> None:
    """Put an account into a file in place of the one with its name, or take one out; other lines stay. Only who owns
    the file may read it, and stays its owner. Raises what `read_accounts` does, but for a file that is not there."""
    path = Path(os.path.realpath(file))  # of a link, what it leads to
    lines: list[str] = []
    if path.exists():
        read_accounts(path)
        lines = path.read_text("utf-8-sig").splitlines()
    name = changed.name if changed is not None else removed
    kept = [line for line in lines if line.strip().split(":")[0] != name or line.lstrip().startswith("#")]
    text = "".join(f"{line}\n" for line in [*kept, *([changed.line()] if changed is not None else [])])
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: there is no such folder; make it first")
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with naming(path), os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        if path.exists() and hasattr(os, "chown"):  # root may change it for a server that runs as another
            with suppress(PermissionError):
                os.chown(new, path.stat().st_uid, path.stat().st_gid)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


class Accounts:
    """The accounts of a server. tokens, users (name and password): of the command line, which may do all; file: more
    of them, read when the server starts and by `reload`.

    Raises InputError and UsageError for the file.
    """

    def __init__(
        self, tokens: Iterable[str] = (), users: Iterable[tuple[str, str]] = (), file: str | Path | None = None
    ) -> None:
        self._given = [Account("token", Role.ADMIN, by_token(token)) for token in tokens]
        self._users = [Account(name, Role.ADMIN, by_token(password)) for name, password in users]
        self._file = file
        self._key = secrets.token_bytes(32)
        self._scrypt = asyncio.Lock()
        self._attempts = Attempts()
        self._running: dict[tuple[str, bytes], asyncio.Task[Account | None]] = {}
        self.reload()

    def reload(self) -> int:
        """Read the file again: how many accounts it has. Raises InputError and UsageError; then those before stay."""
        listed = read_accounts(self._file) if self._file is not None else {}
        self._by_name: dict[str, list[Account]] = {}
        for account in (*self._users, *listed.values()):
            self._by_name.setdefault(account.name, []).append(account)
        self._by_secret = {account.secret: account for account in (*self._given, *listed.values())}
        self._proved: dict[bytes, Account] = {}
        return len(listed)

    async def identified(self, header: str | None, address: str = "") -> Account | None:
        """Whom an Authorization header from an address proves to be. Raises HttpError (429) where too many from there
        were wrong.

        Wrong passwords take the same time whether or not there is an account with the name.
        """
        if header is None:
            return None
        self._attempts.check(address)
        if (known := self._known_by(header)) is not None:
            return known
        key = network_of(address), self._proof(header)
        if (attempt := self._running.get(key)) is None:  # the same attempt on several connections is one
            attempt = self._running[key] = asyncio.create_task(self._attempt(header, address))
            attempt.add_done_callback(lambda done: (self._running.pop(key), done.cancelled() or done.exception()))
        return await asyncio.shield(attempt)

    async def _attempt(self, header: str, address: str) -> Account | None:
        async with self._attempts.counted(address):
            found = await self._slowly(header)
            if found is not None:
                self._attempts.right(address)
            return found

    def _known_by(self, header: str) -> Account | None:
        """Whom a header proves to be that is a token's, or that has proved it before."""
        scheme, value = _parts(header)
        if scheme == "bearer":
            return self._by_secret.get(by_token(value))
        return self._proved.get(self._proof(header))

    def _proof(self, header: str) -> bytes:
        return hmac.digest(self._key, header.encode(), "sha256")

    async def _slowly(self, header: str) -> Account | None:
        """Whom a header proves to be by a name and a password."""
        scheme, value = _parts(header)
        if scheme != "basic":
            return None
        try:
            name, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        slow: Account | None = None
        for account in self._by_name.get(name, ()):
            if account.secret.startswith("scrypt"):
                slow = account
            elif proves(account.secret, password):
                return account
        proved, secret = self._proved, _NOBODY if slow is None else slow.secret
        async with self._scrypt:  # whoever guesses keeps other guesses waiting, not other requests
            right = await asyncio.to_thread(proves, secret, password)
        if slow is None or not right:
            return None
        if len(proved) >= SIZES.objects:
            proved.clear()
        proved[self._proof(header)] = slow  # of the file as it was read before this began
        return slow


def _parts(header: str) -> tuple[str, str]:
    """The scheme of an Authorization header, in lower case, and what follows it."""
    scheme, _, value = header.partition(" ")
    return scheme.lower(), value.strip()
