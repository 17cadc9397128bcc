"""Where every write begins: a transaction on the newest version, undone in memory by whatever goes wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triplestore.model.errors import InputError, UsageError
from triplestore.model.stopping import interrupting
from triplestore.read.session import Session
from triplestore.write.transaction import Transaction


@contextmanager
def writing(session: Session) -> Iterator[Transaction]:
    """A transaction on the newest version; whatever goes wrong in it leaves the store as it was."""
    if session.pinned:
        version = session.manifest.version
        raise UsageError(f"version {version} was opened to read (--at); open the newest version to change it")
    with session.versions.working():
        session.newest()
        manifest = session.manifest
        try:
            with interrupting(session.engine):
                yield Transaction(session.workspace, session.verbose, session.notify)
        except (InputError, UsageError):  # a refusal: what is in memory has been put back
            session.workspace.forget(manifest)
            raise
        except BaseException:  # between any two statements
            session.workspace.abandon(manifest)
            raise
