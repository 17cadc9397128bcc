"""What it takes for a file to be there after a crash, and for it to be made by one process only.

Not every platform has all of it: Windows opens no folders and syncs no handle that was opened to read; some file
systems have no hard links. It is done where it can be done.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from triplestore.engine.disk import naming
from triplestore.model.errors import ConflictError

_NOT_OPENED: Final = frozenset((errno.EACCES, errno.EPERM, errno.EISDIR))
"""How the platform says that it opens no folders."""

_NOT_SYNCED: Final = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF))
"""How a file system says that it syncs no folders."""

_NO_LINKS: Final = frozenset((errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL))
"""How a file system says that it has no hard links."""


def write_durably(path: Path, text: str) -> None:
    """Write a new file, on disk on return. Whatever fails, nothing is left of it."""
    try:
        with naming(path), open(path, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Have the names in a folder on disk, where the platform knows how."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno in _NOT_OPENED:
            return
        raise
    try:
        with naming(path):
            os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise
    finally:
        os.close(handle)


def linked(draft: Path, target: Path) -> bool:
    """Give a draft one more name, whole or not at all; whether the file system has hard links. Raises FileExistsError
    where another has taken the name."""
    try:
        os.link(draft, target)
    except FileExistsError:
        if not _same(draft, target):  # else made by us: a network's file system had asked twice
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


def _same(draft: Path, target: Path) -> bool:
    """Whether two names are of one file. The second may be gone by now."""
    try:
        return os.path.samefile(draft, target)
    except FileNotFoundError:
        return False


def put_if_absent(draft: Path, target: Path, claim: Callable[[Path], Callable[[], None] | None]) -> None:
    """Give a draft its name, if nobody has taken it. Raises FileExistsError if so.

    By a hard link, which is made whole or not at all. Without hard links: whoever has the claim (a file beside the
    target, made exclusively by `claim`, which returns what gives it up, None where another has it) renames the draft.
    """
    if linked(draft, target):
        return
    release = claim(target.with_name(f".{target.name}.claim"))
    if release is None:
        raise ConflictError(f"another writer is publishing {target}; nothing was changed, run the command again")
    try:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.replace(draft, target)
    finally:
        release()
