"""The group of all commands, for what click does otherwise."""

from __future__ import annotations

from typing import Any

import click


class ReaderGoneError(Exception):
    """What reads the output of a command is gone. (click ends the process with code 1 at a BrokenPipeError.)"""


class Commands(click.Group):
    """A group that raises ReaderGoneError where a command meets a pipe that nobody reads, and says how a file to write
    to is given."""

    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error
        except click.UsageError as error:
            options = error.ctx.command.params if error.ctx else ()
            if "unexpected extra argument" in error.message and any("-o" in option.opts for option in options):
                raise click.UsageError(f"{error.message}: to write to a file, give it as -o FILE", error.ctx) from error
            raise
