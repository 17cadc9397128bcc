"""The group of all commands."""

from __future__ import annotations

from typing import Final

import click

from triplestore.cli import (
    accounts,
    changing,
    graphs,
    keeping,
    loading,
    proofs,
    reading,
    searching,
    serving,
    shapes,
    streaming,
    suspects,
    verifying,
)
from triplestore.cli.group import Commands

COMMANDS: Final = (
    loading.init,
    loading.load,
    changing.materialise,
    changing.update,
    changing.rules,
    graphs.graphs,
    graphs.upgrade,
    reading.query,
    searching.search,
    reading.export,
    reading.check,
    shapes.validate,
    reading.entails,
    reading.stats,
    serving.serve,
    accounts.account,
    serving.mcp,
    streaming.stream,
    proofs.explain,
    proofs.why_same,
    suspects.suspects,
    keeping.prefixes,
    keeping.log,
    verifying.verify,
    keeping.restore,
    keeping.compact,
    keeping.vacuum,
    keeping.retention,
    keeping.copy,
    keeping.backup,
    keeping.demo,
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="triplake", prog_name="triplake")
def cli() -> None:
    """An RDF triple store that reasons: OWL 2 RL, equality by rewriting, kept up to date as data and axioms
    change.

    A STORE is a folder. Exit codes: 0 done; 1 the answer is no, or the store is inconsistent; 2 wrong usage; 3 bad
    input; 4 another writer was first; 5 the store is damaged or too new; 6 the disk is full or fails; 7 not enough
    memory; 8 rules make terms without end; 9 an endpoint of SERVICE fails; 70 a fault in Triplake; 130 interrupted;
    129, 143 ended by SIGHUP, SIGTERM.
    """


for command in COMMANDS:
    cli.add_command(command)
