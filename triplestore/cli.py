"""The command line: `triplake COMMAND STORE ...`. Each command is a method of `Store`; results go to stdout, progress
and messages to stderr, and every failure has its exit code (see `triplestore.errors`)."""

from __future__ import annotations

import json
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EDQUOT, EISDIR, EMFILE, ENAMETOOLONG, ENOSPC, ENOTDIR, EPERM, EROFS
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from triplestore.errors import EngineError, TriplakeError, UsageError

if TYPE_CHECKING:
    from loaders import OnError
    from triplestore.store import Store

F = TypeVar("F", bound=Callable[..., Any])

NO = 1
FAULT = 70


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    engine: str
    master: str | None
    memory_limit: str | None
    quiet: bool
    verbose: bool

    @property
    def engine_options(self) -> dict[str, Any]:
        return {"engine": self.engine, "master": self.master, "memory_limit": self.memory_limit}


def common(function: F) -> F:
    """Give a command the options that all have, as its first argument."""

    def command(*args: Any, **kwargs: Any) -> Any:
        names = ("engine", "master", "memory_limit", "quiet", "verbose")
        return function(Common(*(kwargs.pop(name) for name in names)), *args, **kwargs)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    for option in reversed(
        (
            click.option(
                "--engine",
                type=click.Choice(["auto", "duckdb", "spark"]),
                default="auto",
                show_default=True,
                help="What does the work; auto is DuckDB in this process unless a Spark master is configured.",
            ),
            click.option("--master", metavar="URL", help="Spark master, as in local[2] or spark://host:7077."),
            click.option("--memory-limit", metavar="SIZE", help="Memory for the engine, as in 2GB; it spills to disk."),
            click.option("--quiet", "-q", is_flag=True, help="No progress on stderr."),
            click.option("--verbose", "-v", is_flag=True, help="Figures per round and shape; tracebacks of faults."),
        )
    ):
        command = option(command)
    return command  # type: ignore[return-value]


at_option = click.option("--at", type=int, metavar="VERSION", help="Read an older version (see `triplake log`).")
same_as_option = click.option(
    "--same-as",
    type=click.Choice(["expand", "canonical"]),
    default="expand",
    show_default=True,
    help="Every member of an equality class, or its representative only.",
)
rules_option = click.option(
    "--rules",
    multiple=True,
    metavar="NAME_OR_FILE",
    help="owl2rl (default), rdfs-plus, rdfs, none, or a file of rules; may be given several times.",
)
equality_option = click.option(
    "--equality",
    type=click.Choice(["rewrite", "axioms", "off"]),
    help="How owl:sameAs is handled; by default rewrite if the rules mention it.",
)
maintain_option = click.option(
    "--maintain", default="auto", show_default=True, metavar="ALGORITHM", help="How the closure is maintained."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="triplake", prog_name="triplake")
def cli() -> None:
    """An RDF triple store that reasons: OWL 2 RL, equality by rewriting, kept right as data and axioms change.

    A STORE is a folder. Exit codes: 0 done; 1 the answer is no, or inconsistent; 2 wrong usage; 3 bad input;
    4 another writer was first; 5 the store is damaged or too new; 70 a fault of ours.
    """


@cli.command()
@click.argument("store")
@rules_option
@equality_option
@common
def init(options: Common, store: str, rules: Sequence[str], equality: str | None) -> None:
    """Make an empty store."""
    from triplestore.store import Store

    with Store.create(store, rules or ("owl2rl",), equality, engine="duckdb") as made:
        say(options, f"made {store}: rules {', '.join(r.name for r in made.rulesets)}, equality {made.equality}")


@cli.command()
@click.argument("store")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--format", "format_", metavar="F", help="nt, ttl, nq, trig, rdfxml or jsonld, where suffixes don't tell."
)
@click.option("--no-materialise", is_flag=True, help="Load only; run `triplake materialise` later.")
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a fault: commit nothing, or load the rest and write what was left out to the rejects file.",
)
@click.option("--rejects", metavar="FILE", help="Where --on-error skip writes (default: STORE.rejects).")
@rules_option
@equality_option
@common
def load(
    options: Common,
    store: str,
    files: Sequence[str],
    format_: str | None,
    no_materialise: bool,
    on_error: OnError,
    rejects: str | None,
    rules: Sequence[str],
    equality: str | None,
) -> None:
    """Load RDF files (folders, globs, - for stdin), then materialise. Makes the store if there is none."""
    from triplestore.storage.manifest import Versions
    from triplestore.store import Store

    made = not Versions(store).exists()
    if made:
        opened = Store.create(store, rules or ("owl2rl",), equality, **options.engine_options)
    else:
        opened = Store.open(store, **options.engine_options)
    try:
        with opened, reporting(options, opened):
            if not made:
                _check_settings(opened, rules, equality)
            report = opened.load(
                *files,
                format=format_,
                materialise=not no_materialise,
                on_error=on_error,
                rejects=rejects or (f"{store.rstrip('/')}.rejects" if on_error == "skip" else None),
            )
            last = opened.log()[-1]
    except BaseException:
        if made and len(Versions(store).numbers()) <= 1:
            shutil.rmtree(store, ignore_errors=True)
        raise
    if report.graphs_dropped:
        warn(
            f"{report.graphs_dropped:,} quads had a graph name, which Triplake does not keep: their triples were loaded"
        )
    if report.skipped:
        warn(f"{report.skipped:,} faulty entries were left out; they are in {report.rejects_path}")
    say(options, f"{store}: version {last['version']}, {last['asserted']:,} asserted, {last['facts']:,} facts stored")


@cli.command()
@click.argument("store")
@common
def materialise(options: Common, store: str) -> None:
    """Compute the closure from scratch."""
    with opening(options, store) as opened:
        opened.materialise()
        last = opened.log()[-1]
    say(options, f"{last['facts']:,} facts in {last['seconds']:.2f} s, {last['rounds']} rounds")


@cli.command()
@click.argument("store")
@click.argument("files", nargs=-1)
@click.option("--add", multiple=True, metavar="FILE", help="An RDF file whose triples are added.")
@click.option("--delete", multiple=True, metavar="FILE", help="An RDF file whose triples are deleted.")
@maintain_option
@click.option("--dry-run", is_flag=True, help="Show the effect, commit nothing.")
@common
def update(
    options: Common,
    store: str,
    files: Sequence[str],
    add: Sequence[str],
    delete: Sequence[str],
    maintain: str,
    dry_run: bool,
) -> None:
    """Apply update files in order: RDF Patch (.rdfp), SPARQL Update (.ru), or plain triples by --add and --delete."""
    if not (files or add or delete):
        raise UsageError("nothing to apply: give update files (.rdfp, .ru), --add FILE or --delete FILE")
    with opening(options, store) as opened:
        for last in opened.update_files(*files, add=add, delete=delete, maintain=maintain, dry_run=dry_run):
            would = "would add" if dry_run else "added"
            say(
                options,
                f"{would} {last['added']:,} and delete{'' if dry_run else 'd'} {last['deleted']:,} stored facts, "
                f"merge{'' if dry_run else 'd'} {last['merged']:,}, split {last['split']:,} terms, "
                f"{last['seconds']:.3f} s by {last['algorithm']}",
            )


@cli.command()
@click.argument("store")
@click.argument("action", type=click.Choice(["list", "add", "remove"]))
@click.argument("names", nargs=-1, metavar="[NAME_OR_FILE]...")
@common
def rules(options: Common, store: str, action: str, names: Sequence[str]) -> None:
    """List, add or remove the rules of a store; the closure is brought up to date."""
    if action == "list":
        with opening(options, store) as opened:
            for ruleset in opened.rulesets:
                click.echo(ruleset.name + ("" if ruleset.text is None else " (file)"))
        return
    if not names:
        raise UsageError(f"rules {action} needs the name of a ruleset or a file of rules")
    with opening(options, store) as opened:
        opened.change_rules(*((names, ()) if action == "add" else ((), names)))
        say(options, f"rules now: {', '.join(r.name for r in opened.rulesets) or 'none'}")


@cli.command()
@click.argument("store")
@click.argument("sparql", required=False)
@click.option("--file", "-f", "file", metavar="FILE", help="Read the query from a file (- for stdin).")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "tsv", "json", "xml", "nt", "ttl"]),
    help="Default: table, or ttl for CONSTRUCT and DESCRIBE.",
)
@same_as_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if an ASK is false.")
@at_option
@common
def query(
    options: Common,
    store: str,
    sparql: str | None,
    file: str | None,
    format_: str | None,
    same_as: str,
    exit_code: bool,
    at: int | None,
) -> None:
    """Answer a SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE."""
    if (sparql is None) == (file is None):
        raise UsageError("give the query as an argument, or a file of it with -f, and not both")
    text = sparql if sparql is not None else _read(str(file))
    with opening(options, store, at) as opened:
        result = opened.query(text, same_as)
        result.write(sys.stdout, format_ or ("ttl" if result.kind in ("construct", "describe") else "table"))
    if exit_code and result.kind == "ask" and not result.boolean:
        raise SystemExit(NO)


@cli.command()
@click.argument("store")
@click.option(
    "--what",
    type=click.Choice(["asserted", "inferred", "all"]),
    default="all",
    show_default=True,
    help="Which triples.",
)
@same_as_option
@click.option("--output", "-o", metavar="FILE", help="Format and compression by suffix; default N-Triples to stdout.")
@click.option("--sorted", "ordered", is_flag=True, help="N-Triples lines in the order of their bytes.")
@at_option
@common
def export(
    options: Common, store: str, what: str, same_as: str, output: str | None, ordered: bool, at: int | None
) -> None:
    """Write the store's triples."""
    from triplestore.export import write_export

    with opening(options, store, at) as opened:
        count = write_export(opened, output, what, same_as, ordered)
    say(options, f"wrote {count:,} triples")


@cli.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@at_option
@common
def check(options: Common, store: str, as_json: bool, at: int | None) -> None:
    """List inconsistencies: the rule and the triples at fault. Exit code 1 if there are any."""
    with opening(options, store, at) as opened:
        found = opened.check()
    if as_json:
        rows = [{"rule": v.rule, "triples": [[term.n3() for term in t] for t in v.triples]} for v in found]
        click.echo(json.dumps(rows, indent=2))
    else:
        for violation in found:
            click.echo(violation.rule)
            for triple in violation.triples:
                click.echo(f"    {' '.join(term.n3() for term in triple)} .")
        click.echo(f"{len(found):,} inconsistencies" if found else "consistent")
    if found:
        raise SystemExit(NO)


@cli.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@at_option
@common
def stats(options: Common, store: str, as_json: bool, at: int | None) -> None:
    """Show counts of a store and the figures of its last operation."""
    with opening(options, store, at) as opened:
        found = opened.stats()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for key, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}" for k, v in value.items() if v != "")
        elif isinstance(value, list):
            value = ", ".join(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        click.echo(f"{key.replace('_', ' '):<15} {value}")


@cli.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@common
def log(options: Common, store: str, as_json: bool) -> None:
    """List the versions that can be read, and what made them."""
    with opening(options, store) as opened:
        entries = opened.log()
    if as_json:
        click.echo(json.dumps(entries, indent=2))
        return
    click.echo(
        f"{'version':>7}  {'created':<20}  {'operation':<11} {'asserted':>12} {'facts':>12} {'seconds':>8}  algorithm"
    )
    for e in entries:
        click.echo(
            f"{e['version']:>7}  {e['created']:<20}  {e.get('operation', ''):<11} {e['asserted']:>12,} "
            f"{e['facts']:>12,} {e.get('seconds', 0):>8.2f}  {e.get('algorithm', '')}"
        )


@cli.command()
@click.argument("store")
@common
def compact(options: Common, store: str) -> None:
    """Rewrite fragmented tables as one sorted file each."""
    with opening(options, store) as opened:
        before = opened.version
        opened.compact()
        say(options, "nothing to compact" if opened.version == before else f"version {opened.version} is compact")


@cli.command()
@click.argument("store")
@click.option("--keep", type=click.IntRange(min=1), default=1, show_default=True, help="Newest versions to keep.")
@common
def vacuum(options: Common, store: str, keep: int) -> None:
    """Forget older versions and delete the files that only they needed."""
    from triplestore.storage.manifest import Versions

    versions = Versions(store)
    versions.check()
    gone, files, freed = versions.vacuum(keep)
    say(options, f"forgot {gone:,} versions, deleted {files:,} files, freed {freed:,} bytes")


@cli.command()
@click.argument("store")
@click.argument("dest")
@at_option
@common
def copy(options: Common, store: str, dest: str, at: int | None) -> None:
    """Write a compact copy of a store to a new folder."""
    with opening(options, store, at) as opened:
        opened.copy(dest)
    say(options, f"copied {store} to {dest}")


@cli.command()
@click.argument("folder", required=False)
@common
def demo(options: Common, folder: str | None) -> None:
    """The main job, end to end, on bundled data, in seconds. FOLDER keeps the store; by default it is temporary."""
    from triplestore.demo import run

    run(folder, options.engine_options)


# -- around the commands -----------------------------------------------------------------------------------------------


@contextmanager
def opening(options: Common, store: str, at: int | None = None) -> Iterator[Store]:
    """A store, opened for a command and closed after it, its progress on stderr."""
    from triplestore.store import Store

    with Store.open(store, at=at, **options.engine_options) as opened, reporting(options, opened):
        yield opened


@contextmanager
def reporting(options: Common, store: Store) -> Iterator[None]:
    """Progress on stderr; a failure of the engine is traced to a damaged file of the store, if it has one."""
    from triplestore.storage.manifest import Versions

    with progress(options, store):
        try:
            yield
        except EngineError:
            versions = Versions(store.path)
            versions.examine(versions.read(store.version))
            raise


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

    console = Console(stderr=True, highlight=False)
    with console.status(f"{store.path} ({store.engine_name})") as status:

        def notify(line: str) -> None:
            console.print(line, markup=False)
            status.update(line)

        store.notify = notify
        store.verbose = notify if options.verbose else store.verbose
        yield


def say(options: Common, line: str) -> None:
    """A closing line on stderr."""
    if not options.quiet:
        click.echo(line, err=True)


def warn(line: str) -> None:
    """A warning on stderr, said even with --quiet."""
    click.echo(f"warning: {line}", err=True)


def _check_settings(store: Store, rules: Sequence[str], equality: str | None) -> None:
    names = [r.name for r in store.rulesets]
    if rules and list(rules) != names:
        raise UsageError(
            f"{store.path} has the rules {', '.join(names)}; change them with `triplake rules {store.path} add|remove`"
        )
    if equality and equality != store.equality:
        raise UsageError(f"{store.path} was made with equality {store.equality}; that is fixed for a store's life")


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text") from error


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns whatever it raises into a message and an exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    verbose = "--verbose" in arguments or "-v" in arguments
    raise SystemExit(_run(list(arguments), verbose, sys.stderr))


def _run(arguments: list[str], verbose: bool, err: IO[str]) -> int:
    def fail(code: int, message: str) -> int:
        if verbose and code == FAULT:
            traceback.print_exc(file=err)
        err.write(f"triplake: {message}\n")
        return code

    try:
        cli.main(arguments, prog_name="triplake", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        err.write(f"{error.format_message()}\n")
        return 2
    except click.UsageError as error:
        hint = f"\nTry `{error.ctx.command_path} --help`." if error.ctx else ""
        return fail(2, error.format_message() + hint)
    except click.Abort:
        return fail(130, "interrupted; nothing was committed")
    except EngineError as error:
        return fail(FAULT, f"{error if verbose else str(error).splitlines()[0]}\n{_REPORT}")
    except TriplakeError as error:
        return fail(error.exit_code, str(error))
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return fail(130, "interrupted; nothing was committed")
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            return fail(FAULT, f"{type(error).__name__}: {error}\n{_REPORT}")
        return fail(2, f"{error.filename or 'a file'}: {error.strerror}; nothing was committed")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:
        return fail(FAULT, f"{type(error).__name__}: {error}\n{_REPORT}")
    return 0


_OF_THE_MACHINE = frozenset((EACCES, EPERM, EROFS, ENOSPC, EDQUOT, ENOTDIR, EISDIR, ENAMETOOLONG, EMFILE))
"""What the operating system refuses and the user can put right: permissions, room, paths."""

_REPORT = (
    "This is a fault of Triplake's, not yours. Please report it with the command you ran and its --verbose output."
)

if __name__ == "__main__":
    main()
