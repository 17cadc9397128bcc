"""What commands share: the options that all take, and opening a store with its progress on stderr."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from triplake.rulesets import NAMES
from triplestore.model.dataset import DefaultGraph
from triplestore.model.equality import Equality
from triplestore.model.errors import UsageError
from triplestore.objects import is_remote

if TYPE_CHECKING:
    from triplestore.materialise.limits import Limits
    from triplestore.ontology.profile import Finding
    from triplestore.store import Store

F = TypeVar("F", bound=Callable[..., Any])

NO: Final = 1
"""The exit code of a command whose answer is no."""


MOST_SECONDS: Final = 31_536_000
"""A year: longer than that no timer need wait, and much longer it cannot."""


class Seconds(click.FloatRange):
    """A number of seconds, not less than some."""

    def __init__(self, least: float) -> None:
        super().__init__(least, MOST_SECONDS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):  # within any range, as click compares
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    engine: str
    master: str | None
    memory_limit: str | None
    max_terms: int | None
    max_rounds: int | None
    quiet: bool
    verbose: bool
    verify: bool

    @property
    def engine_options(self) -> dict[str, Any]:
        return {"engine": self.engine, "master": self.master, "memory_limit": self.memory_limit}


def common(function: F) -> F:
    """Give a command the options that all have, as its first argument."""

    def command(*args: Any, **kwargs: Any) -> Any:
        names = ("engine", "master", "memory_limit", "max_terms", "max_rounds", "quiet", "verbose", "verify")
        return function(Common(*(kwargs.pop(name) for name in names)), *args, **kwargs)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    for option in reversed(
        (
            click.option(
                "--engine",
                type=click.Choice(["auto", "duckdb", "spark"]),
                default="auto",
                show_default=True,
                help="The engine; auto is DuckDB in this process, or Spark where a master is configured.",
            ),
            click.option("--master", metavar="URL", help="Spark master, as in local[2] or spark://host:7077."),
            click.option(
                "--memory-limit",
                metavar="SIZE",
                help="Memory, as in 2GB (default: half of the machine's; serve: 35% for all reads, and for writes).",
            ),
            click.option(
                "--max-terms", type=int, metavar="N", help="Most terms that rules may make (default: 10000000)."
            ),
            click.option(
                "--max-rounds", type=int, metavar="N", help="Most rounds in which rules may make terms (default: 1000)."
            ),
            click.option("--quiet", "-q", is_flag=True, help="Show no progress on stderr."),
            click.option(
                "--verify", is_flag=True, help="First read the whole store, and check that nothing is damaged."
            ),
            click.option(
                "--verbose", "-v", is_flag=True, help="Show figures per round and shape, and tracebacks of faults."
            ),
        )
    ):
        command = option(command)
    return command  # type: ignore[return-value]


def nothing_to_verify(options: Common) -> None:
    """Raise UsageError for --verify with a command that reads no store."""
    if options.verify:
        raise UsageError("--verify is for commands that read a store; this one makes a new one")


at_option = click.option("--at", type=int, metavar="VERSION", help="Read an older version (see `triplake log`).")
same_as_option = click.option(
    "--same-as",
    type=click.Choice(["expand", "canonical"]),
    default="expand",
    show_default=True,
    help="Every member of an equality class, or one that stands for all.",
)
prefer_option = click.option(
    "--prefer",
    multiple=True,
    metavar="IRI",
    help="With --same-as canonical: show a class by its member that starts with this; several times, the first wins.",
)
rules_option = click.option(
    "--rules",
    multiple=True,
    metavar="NAME_OR_FILE",
    help=f"{', '.join(NAMES)} (default: {NAMES[0]}; see `triplake rules list`), or a file; may be given several times.",
)
axiomatic_option = click.option(
    "--axiomatic",
    is_flag=True,
    help="Add the axiomatic triples of RDF and RDFS: the ruleset rdfs-axiomatic (with rdf only: rdf-axiomatic).",
)
equality_option = click.option(
    "--equality",
    type=click.Choice([mode.value for mode in Equality]),
    help="How owl:sameAs is handled; by default rewrite if the rules mention it.",
)
counting_option = click.option(
    "--counting", is_flag=True, help="Keep derivation counts, for the maintenance algorithms that need them."
)
default_graph_option = click.option(
    "--default-graph",
    type=click.Choice([kind.value for kind in DefaultGraph]),
    help="What queries that name no graph read, and rules see: all graphs (union), or the unnamed one (separate).",
)
maintain_option = click.option(
    "--maintain", default="auto", show_default=True, metavar="ALGORITHM", help="How the closure is maintained."
)
load_folder_option = click.option(
    "--load-folder",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="Let SPARQL's LOAD read the files in this folder; without it, none.",
)
shapes_option = click.option(
    "--shapes",
    multiple=True,
    metavar="FILE",
    help="Refuse what would not conform to these shapes (SHACL), with the report; nothing is committed then.",
)
services_option = click.option(
    "--allow-service",
    multiple=True,
    metavar="URL",
    help="Let SPARQL's SERVICE ask this endpoint; without it, none.",
)


def limits(options: Common) -> Limits:
    """How far the rules of a store may go, as the options say."""
    from triplestore.materialise.limits import Limits

    given = {"terms": options.max_terms, "rounds": options.max_rounds}
    return Limits(**{name: number for name, number in given.items() if number is not None})


@contextmanager
def opening(options: Common, store: str, at: int | None = None) -> Iterator[Store]:
    """A store, opened for a command and closed after it, its progress on stderr."""
    from triplestore.store import Store

    with (
        Store.open(store, at=at, verify=options.verify, **options.engine_options) as opened,
        reporting(options, opened),
    ):
        yield opened


@contextmanager
def reporting(options: Common, store: Store) -> Iterator[None]:
    """Progress on stderr, and the limits that the options set."""
    store.limits = limits(options)
    with progress(options, store):
        yield


@contextmanager
def progress(options: Common, store: Store) -> Iterator[None]:
    """Progress on stderr: a live line on a terminal, plain lines otherwise, none with --quiet."""
    if options.quiet:
        yield
        return
    if not sys.stderr.isatty():
        store.notify = lambda line: click.echo(line, err=True)
        store.verbose = store.notify if options.verbose else store.verbose
        yield
        return
    from rich.console import Console
    from rich.text import Text  # as it is: rich reads [..] in what is a str

    console = Console(stderr=True, highlight=False)
    with console.status(Text(f"{store.path} ({store.engine_name})")) as status:

        def notify(line: str) -> None:
            console.print(line, markup=False)
            status.update(Text(line))

        store.notify = notify
        store.verbose = notify if options.verbose else store.verbose
        store.live = lambda at: status.update(Text(at.line))
        yield


def say(options: Common, line: str) -> None:
    """A closing line on stderr."""
    if not options.quiet:
        click.echo(line, err=True)


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 inconsistency, 2 inconsistencies."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return f"{number:,} {plural}"


def warn_of_violations(store: Store) -> None:
    """Say that a store is inconsistent, if it is, and how to see where."""
    counts = store.violated() if store.materialised else {}
    if counts:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in counts.items())
        warn(f"{counted(sum(counts.values()), 'inconsistency')} ({rules}): `triplake check {store.path}` lists them")


_NAMED: Final = 5
"""Missing imports that are named."""


def warn_of_left_out(store: Store, names: Sequence[str] | None = None) -> None:
    """Name the rules that are left out since their file switches them off, and the files that have no rules: of the
    rulesets with these names, or of all."""
    from triplestore.read.reasoning import rules_of, switched_off

    for ruleset in store.rulesets:
        if names is None or ruleset.name in names:
            off = switched_off(ruleset)
            if not off and not rules_of(ruleset):
                warn(f"{ruleset.name} has no rules: nothing follows by it")
            for name in off:
                warn(f"{ruleset.name}: the rule {name} is switched off (swrla:isRuleEnabled false) and left out")


def warn_of_missing_imports(store: Store) -> None:
    """Say which imports of the loaded ontologies are not there: files are given, never fetched."""
    missing = store.missing_imports()
    for imported, by in list(missing.items())[:_NAMED]:
        importing = f"{by[0]} imports" if len(by) == 1 else f"{by[0]} and {len(by) - 1:,} more import"
        warn(
            f"{importing} {imported}, which is not loaded: its axioms are missing; load its file, too "
            "(imports are not fetched)"
        )
    if len(missing) > _NAMED:
        warn(f"{len(missing) - _NAMED:,} more imports are not loaded")


def tell_outside_profile(options: Common, store: Store) -> None:
    """Say how many axioms the rules do not use, or use in part; with --verbose, which."""
    if options.quiet:
        return
    found = store.outside_profile()
    if not found:
        return
    total = sum(finding.count for finding in found)
    hint = "" if options.verbose else f"; `triplake stats {store.path}` lists them"
    say(options, f"{counted(total, 'axiom')} with no or partial effect under these rules{hint}")
    if options.verbose:
        for line in outside_profile_lines(found):
            say(options, line)


def outside_profile_lines(found: Sequence[Finding]) -> list[str]:
    """Axioms that the rules do not use, one line a kind, with an example."""
    return [f"  {f.count:>8,}  {f.effect:<7} effect  {f.what}, as in {' '.join(f.example)}" for f in found]


def warn(line: str) -> None:
    """A warning on stderr, even with --quiet."""
    click.echo(f"warning: {line}", err=True)


def read_text(path: str) -> str:
    """The text of a file (- for stdin). Raises UsageError where it cannot be read."""
    try:
        read = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return io.TextIOWrapper(io.BytesIO(read), "utf-8-sig").read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text") from error


def pair_of(text: str) -> tuple[str, str]:
    """The name and the path of NAME=PATH; "" where there is no name, as of a file whose own name has a =. Names, which
    may be IRIs, and paths have it too: it is where what follows is there, at the last if that is nowhere."""
    if "=" not in text or _is_there(text):
        return "", text
    cuts = [at for at, character in enumerate(text) if character == "="]
    at = next((at for at in cuts if _is_there(text[at + 1 :])), cuts[-1])
    return text[:at].strip("<>"), text[at + 1 :]


def _is_there(path: str) -> bool:
    """Whether a path is there, as far as this machine knows."""
    return is_remote(path) or os.path.exists(path)


def sources_of(given: Sequence[str]) -> dict[str, str]:
    """Sources by the names of their streams; "" is that of the only one, where it is not named. Raises UsageError."""
    found: dict[str, str] = {}
    for text in given:
        name, path = pair_of(text)
        found[name] = path
    if "" in found and len(given) > 1:
        raise UsageError("of several streams each has its name: NAME=SOURCE, as in FROM STREAM <NAME>")
    return found
