"""Updates that are interrupted at a line, as Ctrl-C may at any, and the same Store used on.

Run as a process of its own (`python -m tests.support.interrupted FOLDER ALGORITHM STRIDE`): a trace function that
raises is hard on the interpreter. After each interruption the store must be as it was or as it was to become, and
further updates right. Prints how many lines were tried; ends with 1 and says where, if one was wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import triplestore
from tests.support import oracle
from tests.support.random_programs import SAME, TYPE, Triple, ex
from tests.support.stores import as_terms, tokens
from triplake.rulesets import datalog
from triplestore import Store

RULES: Final = """PREFIX : <http://e/>
[?x, a, ?d] :- [?x, a, ?c], [?c, :below, ?d] .
[?x, owl:sameAs, ?y] :- [?x, :key, ?k], [?y, :key, ?k] .
[?x, :near, ?z] :- [?x, :near, ?y], [?y, :near, ?z] .
"""
HERE: Final = Path(triplestore.__file__).parent
PARTS: Final = ("write", "workspace.py", "dictionary", "maintain")
"""Where updates are interrupted: what has a state that outlives them."""

START: Final = frozenset(
    [
        *((ex(f"x{i}"), TYPE, ex(f"C{i % 2}")) for i in range(4)),
        *((ex(f"C{i}"), ex("below"), ex(f"C{i + 1}")) for i in range(3)),
        *((ex(f"x{i}"), ex("near"), ex(f"x{i + 1}")) for i in range(4)),
        *((ex(f"x{i}"), ex("key"), ex(f"k{i // 2}")) for i in range(4)),
        (ex("x0"), SAME, ex("y")),
    ]
)
GOES: Final = frozenset([(ex("x1"), ex("key"), ex("k0")), (ex("C1"), ex("below"), ex("C2")), (ex("x0"), SAME, ex("y"))])
COMES: Final = frozenset([(ex("x2"), ex("key"), ex("k0")), (ex("new"), TYPE, ex("C0"))])
MORE: Final = (ex("x3"), ex("near"), ex("z"))


class Lines:
    """Counts the lines of the package's parts that run; interrupts at one of them (0: at none)."""

    def __init__(self, at: int) -> None:
        self.at, self.count, self.place = at, 0, ""
        self._folders = tuple(str(HERE / part) for part in PARTS)

    @contextmanager
    def watched(self) -> Iterator[None]:
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._stepped if frame.f_code.co_filename.startswith(self._folders) else None

    def _stepped(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._stepped


def changed(store: Store, now: Iterable[Triple], then: Iterable[Triple], algorithm: str) -> None:
    """Update a store from some asserted triples to others."""
    now, then = set(now), set(then)
    store.update(add=as_terms(sorted(then - now)), delete=as_terms(sorted(now - then)), maintain=algorithm)


def tried(store: Store, algorithm: str, at: int, wanted: dict[frozenset[Triple], set[Triple]]) -> str | None:
    """Interrupt an update at its line number `at`, use the store on; what was wrong, if anything. None, too, where the
    update ended before."""
    then, lines = (START - GOES) | COMES, Lines(at)
    try:
        with lines.watched():
            changed(store, START, then, algorithm)
    except KeyboardInterrupt:
        pass
    store.update(add=as_terms([MORE]), maintain=algorithm)
    asserted = frozenset(tokens(store, "asserted"))
    if asserted not in (START | {MORE}, then | {MORE}):
        return f"{lines.place}: asserted is {sorted(asserted)}"
    if (got := tokens(store)) != wanted[asserted]:
        return f"{lines.place}: {sorted(got ^ wanted[asserted])} in one only"
    changed(store, asserted, START, algorithm)
    return None if tokens(store) == wanted[START] else f"{lines.place}: wrong after a third update"


def main(folder: str, algorithm: str, stride: str) -> int:
    """Interrupt at every `stride`-th line."""
    file = Path(folder, "rules.dlog")
    file.write_text(RULES, encoding="utf-8")
    rules, then = tuple(datalog.parse(RULES, "rules")), (START - GOES) | COMES
    wanted = {
        state: oracle.rdf_only(oracle.closure(state, rules).triples)
        for state in (START, START | {MORE}, then | {MORE}, then)
    }
    with Store.create(Path(folder, "kg"), ["none", str(file)], "rewrite", engine="duckdb") as store:
        store.update(add=as_terms(sorted(START)))
        changed(store, START, then, algorithm)  # from now on the closure is in memory
        changed(store, then, START, algorithm)
        counting = Lines(0)
        with counting.watched():
            changed(store, START, then, algorithm)
        changed(store, then, START, algorithm)
        done = 0
        for at in range(1, counting.count + 1, int(stride)):
            if wrong := tried(store, algorithm, at, wanted):
                print(wrong)
                return 1
            changed(store, START, START, algorithm)
            done += 1
    print(f"{done} of {counting.count} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
