"""The command line: `triplake COMMAND STORE ...`. Each command is a method of `Store`; results go to stdout, progress
and messages to stderr, and every failure has its exit code (see `triplestore.model.errors`)."""

from triplestore.cli.entry import main

__all__ = ["main"]
