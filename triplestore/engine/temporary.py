"""Temporary folders and files: their names say which process made them.

Whoever ends removes its own. A process that is killed cannot: what it left, which may be half of the disk, the next one
removes when it makes its first.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from typing import Final

from triplestore.model import processes
from triplestore.model.processes import Process

_NAME: Final = re.compile(r"triplake-[a-z]+-(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<born>\d*)-")


def prefix(purpose: str, inside: str | None = None) -> str:
    """How the names of the temporary folders and files of this process begin. purpose: in small letters; inside: the
    folder in which they are made, the system's by default. What dead processes have left there is removed first."""
    _tidy(inside or tempfile.gettempdir(), os.getpid())
    this = processes.this()
    return f"triplake-{purpose}-{_short(this.host)}-{this.pid}-{this.born}-"


def folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, there while this context is entered; see `prefix`."""
    return tempfile.TemporaryDirectory(prefix=prefix(purpose))


@cache
def _tidy(folder: str, _pid: int) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (found := _NAME.match(entry.name)) and _left(found):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)


def _left(found: re.Match[str]) -> bool:
    host = processes.host()
    if not host or found["host"] != _short(host):
        return False
    return not Process(host, int(found["pid"]), found["born"]).running()


def _short(host: str) -> str:
    return hashlib.sha256(host.encode()).hexdigest()[:8]
