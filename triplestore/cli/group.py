"""The group of all commands, for what click does otherwise."""

from __future__ import annotations

from typing import Any

import click


class ReaderGoneError(Exception):
    """What reads the output of a command is gone. (click ends the process with code 1 at a BrokenPipeError.)"""


class Commands(click.Group):
    """A group that raises ReaderGoneError where a command meets a pipe that nobody reads."""

    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error
