"""In IPython and Jupyter: `%load_ext triplake` gives `%%sparql`, and shows proofs as they are read.

    %%sparql kg people
    SELECT ?x { ?x a :Person }

asks the store `kg` (a variable, or the path of a store), and keeps the result as `people`. The cell may be an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from triplake.loaders import Progress
from triplestore.model.errors import UsageError
from triplestore.proof.proof import Proof
from triplestore.proof.text import text, writer
from triplestore.proof.why_same import SHOWN, Chain, EqualityClass
from triplestore.proof.why_text import chain_text, class_text
from triplestore.read.session import Session
from triplestore.store import Store


def load_ipython_extension(shell: Any) -> None:
    """Register the magic and the ways to show. shell: IPython's. In a notebook loads show how far they are."""
    shell.register_magic_function(_magic(shell), "cell", "sparql")
    if (formatters := getattr(shell, "display_formatter", None)) is not None:
        html = formatters.formatters["text/html"]
        html.for_type(Proof, lambda proof: _pre(text(proof, writer({}))))
        html.for_type(Chain, lambda chain: _pre(chain_text(chain, writer({}))))
        html.for_type(EqualityClass, lambda found: _pre(class_text(found, writer({}), SHOWN)))

    if getattr(shell, "kernel", None) is not None:
        Session.watch = _Bar().show


class _Bar:
    """How far a load is, below the cell that loads, until it has read all."""

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, at: Progress) -> None:
        """Show where reading stands."""
        from IPython.display import HTML, display

        done = at.done_bytes >= at.all_bytes
        bar = f'<progress value="{at.done_bytes}" max="{at.all_bytes}"></progress> {escape(at.line)}'
        if self._shown is not None:
            self._shown.update(HTML("" if done else bar))
        elif not done:
            self._shown = display(HTML(bar), display_id=True)
        if done:
            self._shown = None


def _magic(shell: Any) -> Callable[[str, str], Any]:
    def sparql(line: str, cell: str) -> Any:
        """%%sparql STORE [NAME]: ask a store, or change it, by SPARQL; NAME keeps the result."""
        words = line.split()
        if not 1 <= len(words) <= 2:
            raise UsageError(
                "%%sparql takes a store (a variable or a path), and a name for the result: %%sparql kg found"
            )
        store = shell.user_ns.get(words[0])
        if isinstance(store, Store):
            found = _run(store, cell)
        else:
            with Store.open(words[0]) as opened:
                found = _run(opened, cell)
        if len(words) == 2:
            shell.user_ns[words[1]] = found
        return found

    return sparql


def _run(store: Store, request: str) -> Any:
    """Answer a query, or carry out an update."""
    from triplake.sparql.cursor import Cursor
    from triplake.sparql.parser import UPDATES

    at = Cursor(request)
    at.prologue()
    return store.sparql_update(request) if at.is_(*UPDATES) else store.query(request)


def _pre(lines: Iterator[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>"
