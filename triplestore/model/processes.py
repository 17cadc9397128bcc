"""Which process: told apart from any other of this machine, also from later ones with its number."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process. host: the machine since it was started, and which numbers of processes it sees ("" where these cannot
    be asked for); born: when the process was started, as the machine counts ("" where it does not say)."""

    host: str
    pid: int
    born: str

    @property
    def here(self) -> bool:
        """Whether it is, or was, one of this machine, so that `running` can be known."""
        return bool(self.host) and self.host == host()

    def running(self) -> bool:
        """Whether it runs. Only for one that is `here`."""
        try:
            os.kill(self.pid, 0)  # asks only; not on Windows, where `host` is empty
        except ProcessLookupError:
            return False
        except OSError:
            return True
        found = born(self.pid)
        return not found or not self.born or found == self.born


def this() -> Process:
    """This process."""
    return Process(host(), os.getpid(), born(os.getpid()))


def born(pid: int) -> str:
    """When a process was started, in ticks since the machine was; "ended" where nobody has taken note of its end yet,
    "" where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "ended" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return ""


@cache
def host() -> str:
    """This machine since it was started, as far as its numbers of processes go; "" where these cannot be asked for."""
    if os.name == "nt":
        return ""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)
