"""The command that asks continuous queries: stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Final

import click

from triplestore.cli.options import Common, at_option, common, opening, read_text, say, sources_of
from triplestore.engine.disk import naming
from triplestore.model.errors import UsageError

if TYPE_CHECKING:
    from triplestore.streams.answers import Answer, StreamStats

TOLD: Final = 0.5
"""Seconds between two lines of progress on a terminal."""

BARS: Final = "▁▂▃▄▅▆▇█"


@click.command()
@click.argument("store")
@click.option(
    "--query", "queries", multiple=True, metavar="FILE", help="A file with a query; may be given several times."
)
@click.option("--ask", "texts", multiple=True, metavar="TEXT", help="A query itself; may be given several times.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    required=True,
    metavar="[NAME=]SOURCE",
    help="The stream: a file, a folder of files, or - for standard input; with several streams each with its name.",
)
@click.option("--range", "width", metavar="DURATION", help="Width of the window (5m, PT5M, or the stream's own units).")
@click.option("--step", metavar="DURATION", help="How far the window slides each time; by default its width.")
@click.option(
    "--operator",
    type=click.Choice(["rstream", "istream", "dstream"]),
    help="All rows at each time (the default), only those that are new, or those that have gone.",
)
@click.option(
    "--algorithm",
    type=click.Choice(["auto", "imars", "dred", "naive"]),
    default="auto",
    show_default=True,
    help="How the closure of the window is kept.",
)
@click.option("--lateness", metavar="DURATION", help="How long windows wait for triples out of order; by default not.")
@click.option(
    "--format", "format_", type=click.Choice(["jsonl", "csv", "nt"]), help="By default JSON, a line a window."
)
@click.option("--output", "-o", metavar="FILE", help="Where the answers go; by default standard output.")
@click.option("--follow", is_flag=True, help="Wait for more at the end of a file or folder.")
@click.option(
    "--pace", type=float, metavar="N", help="Replay: N units of the stream's time a second (1000: real time)."
)
@click.option("--as-fast-as-possible", "fast", is_flag=True, help="Do not wait between windows: the default.")
@click.option(
    "--on-error", type=click.Choice(["skip", "stop"]), default="skip", show_default=True, help="At bad lines."
)
@click.option(
    "--checkpoint", metavar="FOLDER", help="Keep there where the run stands, and go on from it after a crash."
)
@click.option("--plot", is_flag=True, help="At the end, show the size of the window and the seconds of each slide.")
@at_option
@common
def stream(
    options: Common,
    store: str,
    queries: Sequence[str],
    texts: Sequence[str],
    sources: Sequence[str],
    width: str | None,
    step: str | None,
    operator: str | None,
    algorithm: str,
    lateness: str | None,
    format_: str | None,
    output: str | None,
    follow: bool,
    pace: float | None,
    fast: bool,
    on_error: str,
    checkpoint: str | None,
    plot: bool,
    at: int | None,
) -> None:
    """Run continuous queries over a stream and the store.

    A line of the stream is TIME TRIPLE ., the time a number (milliseconds, or any unit) or as 2024-05-01T12:00:00Z,
    the triple as in N-Triples. A query says its window itself, by FROM STREAM <s> [RANGE 5m STEP 1m], or is any SPARQL
    query, with --range and --step. The store is only read.
    """
    from triplestore.streams.answers import Writer
    from triplestore.streams.checkpoint import durable, taken_up

    if not queries and not texts:
        raise UsageError("give a query: --query FILE, or --ask TEXT")
    if fast and pace is not None:
        raise UsageError("give --pace or --as-fast-as-possible, not both")
    asked = [*(read_text(name) for name in queries), *texts]
    with opening(options, store, at) as opened, ExitStack() as stack:
        run = stack.enter_context(
            opened.stream(
                *(sources_of(sources), asked, width, step, operator),
                algorithm=algorithm, lateness=lateness, on_error=on_error, follow=follow, pace=pace,
                checkpoint=checkpoint,
            )
        )  # fmt: skip
        file: IO[str] = sys.stdout
        before = run.checkpoint.state if run.checkpoint else None
        if output is not None:
            stack.enter_context(naming(output))
            file = stack.enter_context(taken_up(output, before))

        def on_disk() -> int:
            size = durable(file)
            return 0 if output is None else size  # of what goes elsewhere nothing can be cut off

        run.written = on_disk
        shown = _Progress(run.stats, not options.quiet and sys.stderr.isatty())
        headed = output is not None and before is not None and before.written > 0
        writer = Writer(file, format_ or "jsonl", len(asked), headed)
        for answer in run:
            writer.write(answer)
            shown.note(answer)
            if follow or pace is not None:
                file.flush()
        file.flush()
        shown.end()
        for line in _summary(run.stats):
            say(options, line)
        if plot:
            for line in shown.plot():
                click.echo(line, err=True)


class _Progress:
    """What a terminal is shown while a stream runs."""

    def __init__(self, stats: StreamStats, shown: bool) -> None:
        self._stats, self._shown, self._told, self._began = stats, shown, 0.0, time.monotonic()
        self._sizes: list[int] = []
        self._seconds: list[float] = []

    def note(self, answer: Answer) -> None:
        """Take note of an answer."""
        stats, now = self._stats, time.monotonic()
        self._sizes.append(stats.size)
        self._seconds.append(stats.busy)
        if self._shown and now - self._told > TOLD:
            self._told = now
            rate = stats.triples / max(now - self._began, 1e-9)
            text = (
                f"time {answer.time}: {stats.triples:,} triples, {rate:,.0f}/s; window {stats.size:,}, "
                f"closure {stats.facts:,}; lag {stats.lag:.2f} s; {stats.algorithm}"
            )
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Take the line of progress away."""
        if self._shown and self._told:
            sys.stderr.write("\r\x1b[K")

    def plot(self) -> Iterator[str]:
        """Two lines of bars."""
        spent = [now - before for before, now in zip([0.0, *self._seconds], self._seconds, strict=False)]
        for name, values, unit in (("triples in the window", self._sizes, ""), ("seconds a window", spent, " s")):
            top = max(values, default=0)
            chosen = values if len(values) <= 60 else [values[i * len(values) // 60] for i in range(60)]
            bars = "".join(BARS[min(7, int(8 * v / top))] if top else BARS[0] for v in chosen)
            yield f"{name:>22}  {bars}  at most {top:,.3g}{unit}"


def _summary(stats: StreamStats) -> Iterator[str]:
    rate = f", {stats.triples / stats.busy:,.0f} a second of work" if stats.busy > 0.01 else ""
    done = f"{stats.triples:,} triples, {stats.windows:,} windows by {stats.algorithm}"
    yield f"{done}{rate}; slowest {stats.slowest:.2f} s"
    if stats.switched:
        yield f"not by IMaRS (any more): {stats.switched}"
    if stats.late:
        yield f"{stats.late:,} triples arrived too late for some or all of their windows: --lateness lets windows wait"
    if stats.malformed:
        yield f"{stats.malformed:,} lines could not be read and were left out:"
        yield from (f"  {error}" for error in stats.bad)
    yield from stats.notes
