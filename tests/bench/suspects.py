"""How many of the most suspect links are wrong: precision at 10, 50 and 100 where wrong links were added to right ones,
of `triplake suspects` and, as the yardstick, of the error degree alone (Raad et al. 2018).

`python -m tests.bench.suspects [--things 3000] [--wrong 0.03] [--seed 1]`, on three kinds of data:

- catalogues: people in three catalogues, each with its own names, years and places, linked from one to the next;
- mailboxes: accounts whose shared mailbox makes them one, where some mailboxes are of several people;
- links: names in six data sets and nothing but links between them, many for each thing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from triplestore import Store
from triplestore.read.suspects import Suspect

AT: Final = (10, 50, 100)
EX: Final = "http://ex.org"
SAME: Final = "<http://www.w3.org/2002/07/owl#sameAs>"
FIRST: Final = ("Anna", "Bas", "Carla", "Dirk", "Els", "Frans", "Greet", "Hans", "Ineke", "Jan", "Kees", "Lies", "Otto")
LAST: Final = ("Bakker", "Dekker", "Groot", "Hals", "Jansen", "Kok", "Meer", "Post", "Ruys", "Steen", "Vos", "Witte")
PLACES: Final = ("Delft", "Leiden", "Haarlem", "Utrecht", "Gouda", "Breda", "Zwolle", "Hoorn", "Alkmaar")


@dataclass(frozen=True)
class Given:
    """Statements of N-Triples, the facts about things, and which pairs of IRIs are wrongly one."""

    lines: list[str]
    is_wrong: Callable[[Suspect], bool]


def catalogues(things: int, wrong: float, dice: Random) -> Given:
    """People in three catalogues; each catalogue errs now and then."""
    lines = []
    for number in range(things):
        first, last = dice.choice(FIRST), f"{dice.choice(LAST)}{dice.choice(['', 'man', 'stra'])}"
        year, place = dice.randrange(1550, 1700), dice.choice(PLACES)
        for source in "abc":
            name = dice.choice([f"{first} {last}", f"{last}, {first}", f"{first[0]}. {last}"])
            told = year if dice.random() < 0.9 else year + dice.choice([-1, 1])
            lines += [_fact(source, number, "name", name), _fact(source, number, "born", str(told))]
            if dice.random() < 0.8:
                lines.append(_fact(source, number, "place", place if dice.random() < 0.9 else dice.choice(PLACES)))
    links = [(a, n, b, n) for n in range(things) for a, b in ("ab", "bc") if dice.random() < 0.9]
    links += [("a", n, "b", _other(n, things, dice)) for n in dice.sample(range(things), int(things * wrong))]
    return Given(lines + [_link(*link) for link in links], _of_two_things)


def mailboxes(things: int, wrong: float, dice: Random) -> Given:
    """Accounts of people on four sites, whose mailbox is a key."""
    lines = [f"<{EX}/box> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
             "<http://www.w3.org/2002/07/owl#InverseFunctionalProperty> ."]  # fmt: skip
    other = {n: _other(n, things, dice) for n in dice.sample(range(things), int(things * wrong))}
    box = {n: n for n in range(things)} | other
    mixed = {*other, *other.values()}
    for number in range(things):
        first, last = dice.choice(FIRST), f"{dice.choice(LAST)}{number % 97}"
        for site in dice.sample("wxyz", dice.randrange(1, 4)):
            lines.append(_fact(site, number, "nick", dice.choice([f"{first} {last}", last, f"{first} {last}"])))
            lines.append(_fact(site, number, "home", dice.choice(PLACES)))
            lines.append(f"<{EX}/{site}/{number}> <{EX}/box> <mailto:m{box[number]}@ex.org> .")

    def is_wrong(suspect: Suspect) -> bool:
        return _number(suspect.left) in mixed  # one of those who share it has to go

    return Given(lines, is_wrong)


def links(things: int, wrong: float, dice: Random) -> Given:
    """Names in six data sets, linked densely, and links between two things."""
    found = []
    for number in range(things):
        names = dice.sample("abcdef", dice.randrange(2, 7))
        pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
        found += [(a, number, b, number) for a, b in pairs if dice.random() < 0.7]
    for number in dice.sample(range(things), int(things * wrong)):
        found.append((dice.choice("abc"), number, dice.choice("def"), _other(number, things, dice)))
    return Given([_link(*link) for link in found], _of_two_things)


KINDS: Final = {"catalogues": catalogues, "mailboxes": mailboxes, "links": links}


def ranked(given: Given) -> list[Suspect]:
    """All links of a store of what is given, the most suspect first."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.nt")
        data.write_text("\n".join(dict.fromkeys(given.lines)) + "\n")
        with Store.create(Path(folder, "kg"), "owl2rl", engine="duckdb") as store:
            store.load(data)
            return store.suspects(None)


def precision(found: Iterable[Suspect], given: Given) -> dict[int, float]:
    """The share of wrong links among the first 10, 50, 100."""
    right = [given.is_wrong(suspect) for suspect in found]
    return {n: sum(right[:n]) / n for n in AT}


def by_structure_alone(found: list[Suspect]) -> list[Suspect]:
    """The same links by their error degree."""
    return sorted(found, key=lambda s: -max((r.share for r in s.reasons if r.kind == "structure"), default=0.0))


def _fact(source: str, number: int, prop: str, value: str) -> str:
    return f'<{EX}/{source}/{number}> <{EX}/{prop}> "{value}" .'


def _link(a: str, of_a: int, b: str, of_b: int) -> str:
    return f"<{EX}/{a}/{of_a}> {SAME} <{EX}/{b}/{of_b}> ."


def _other(number: int, things: int, dice: Random) -> int:
    return (number + dice.randrange(1, things)) % things


def _number(token: str) -> int:
    return int(token.rsplit("/", 1)[1].rstrip(">"))


def _of_two_things(suspect: Suspect) -> bool:
    return _number(suspect.left) != _number(suspect.right)


def rows(things: int, wrong: float, seed: int) -> Iterator[str]:
    """The table, a line at a time."""
    yield f"| data | links | wrong | seconds | suspects at {', '.join(map(str, AT))} | error degree alone |"
    yield "|---|---|---|---|---|---|"
    for name, make in KINDS.items():
        given = make(things, wrong, Random(seed))
        start = time.perf_counter()
        found = ranked(given)
        seconds = time.perf_counter() - start
        bad = sum(map(given.is_wrong, found))
        ours, theirs = (precision(order, given).values() for order in (found, by_structure_alone(found)))
        shown = (", ".join(f"{share:.2f}" for share in shares) for shares in (ours, theirs))
        yield f"| {name} | {len(found):,} | {bad:,} | {seconds:.1f} | {' | '.join(shown)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--things", type=int, default=3_000)
    parser.add_argument("--wrong", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for row in rows(options.things, options.wrong, options.seed):
        print(row, flush=True)


if __name__ == "__main__":
    main()
