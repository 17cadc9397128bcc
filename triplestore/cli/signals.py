"""Ctrl-C, SIGTERM and SIGHUP while a command runs: it ends, and what it has made for itself is tidied away."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What others end a command by; Windows has no SIGHUP."""

_HEARD: Final = (signal.SIGINT, *ENDING)

_AGAIN: Final = 0.02
"""Seconds after which a signal that was caught while a module was imported is raised once more."""


class Interrupted(KeyboardInterrupt):
    """A signal was caught.

    A class of its own: CPython remembers a KeyboardInterrupt that passes through `exec` of a text, as dataclasses use
    it while a module is imported, and ends by SIGINT in the end, whatever the exit code.
    """


@contextmanager
def raised(last: bool) -> Iterator[list[int]]:
    """Inside, the first signal raises Interrupted in the main thread; its number is appended to the list. A second one
    ends the process as it is: a version is published whole or not at all. Only the main thread hears of signals; one
    that the caller has the process ignore (nohup, a shell's background job) stays ignored. What is imported is imported
    to its end first: native modules abort the process where they meet an exception.

    last: the process does nothing else, so that signals change nothing any more after it.
    """
    caught: list[int] = []

    def heard(number: int, frame: FrameType | None) -> None:
        if caught:
            os._exit(128 + number)
        if _importing(frame):
            again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        caught.append(number)
        raise Interrupted

    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    heeded = [number for number in _HEARD if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, heard) for number in heeded}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last else handler)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
