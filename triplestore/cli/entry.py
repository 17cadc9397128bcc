"""The entry point: runs a command, and gives every failure its message and its exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Final

import click

from triplestore.cli import signals, standard
from triplestore.cli.group import ReaderGoneError
from triplestore.engine.disk import DISK, REFUSED, refused
from triplestore.engine.disk import told as disk_told
from triplestore.model.errors import EngineError, MemoryLimitError, StorageError, TriplakeError, out_of_memory
from triplestore.model.stopping import heeding_signals, left

FAULT: Final = 70


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns whatever it raises into a message and an exit code. Without arguments,
    the command is what this process is for."""
    standard.prepare()
    given = sys.argv[1:] if arguments is None else list(arguments)
    verbose = "--verbose" in given or "-v" in given
    code = _run(given, arguments is None, verbose, sys.stderr)
    if left() and arguments is None:
        weakref.finalize._exitfunc()  # type: ignore[attr-defined]  # folders of temporary files
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def _run(arguments: list[str], last: bool, verbose: bool, err: IO[str]) -> int:
    def fail(code: int, message: str) -> int:
        if verbose and code == FAULT:
            traceback.print_exc(file=err)
        err.write(f"triplake: {message}\n")
        return code

    def faulty(error: Exception, message: str) -> int:
        # Python has escaped the bytes of an argument that is not UTF-8, and no engine takes what it made of them.
        shown = [os.fsencode(argument).decode("utf-8", "backslashreplace") for argument in arguments]
        odd = next((s for s, argument in zip(shown, arguments, strict=True) if s != argument), None)
        if odd is not None and "surrogate" in message:
            return fail(2, f"'{odd}' is not UTF-8: give what is; nothing was committed")
        return fail(FAULT, "\n".join((message, *_notes(error), _REPORT)))

    def ended(error: BaseException) -> int:
        committed = _notes(error) or _notes(error.__cause__) or ["nothing was committed"]
        by = next((number for number in caught if number in signals.ENDING), None)
        code, why = (130, "interrupted") if by is None else (128 + by, f"ended by {signal.Signals(by).name}")
        return fail(code, f"{why}; {committed[0]}")

    caught: list[int] = []
    try:
        with signals.raised(last) as caught, heeding_signals():
            from triplestore.cli.commands import cli  # what takes long to import, once signals are heard

            cli.main(arguments, prog_name="triplake", standalone_mode=False)
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        err.write(f"{error.format_message()}\n")
        return 2
    except click.UsageError as error:
        hint = f"\nTry `{error.ctx.command_path} --help`." if error.ctx else ""
        return fail(2, error.format_message() + hint)
    except EngineError as error:
        if caught and left():  # what cleared up met a connection that is busy
            return ended(error)
        return faulty(error, str(error) if verbose else str(error).splitlines()[0])
    except MemoryError as error:
        return fail(MemoryLimitError.exit_code, str(out_of_memory(error)))
    except TriplakeError as error:
        return fail(error.exit_code, "\n".join((str(error), *_notes(error))))
    except (ReaderGoneError, BrokenPipeError):
        with suppress(OSError):  # what is left of the output goes nowhere, at the end of the process too
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort) as error:  # click makes the one the other
        return ended(error)
    except OSError as error:
        if error.errno in DISK:
            return fail(StorageError.exit_code, disk_told(error.strerror, error.filename or _UNNAMED))
        if error.errno not in REFUSED:
            return fail(FAULT, f"{type(error).__name__}: {error}\n{_REPORT}")
        return fail(2, refused(error.strerror, error.filename))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:
        if caught and left():
            return ended(error)
        return faulty(error, f"{type(error).__name__}: {error}")
    return 0


def _notes(error: BaseException | None) -> list[str]:
    """What was added to an error on its way: what was committed before it."""
    return getattr(error, "__notes__", [])


_UNNAMED: Final = "standard output, or a file"
"""What an error of the disk is about that names no file: writing to files names them."""

_REPORT = (
    "This is a fault of Triplake's, not yours. Please report it with the command you ran and its --verbose output."
)
