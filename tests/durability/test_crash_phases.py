"""Killed in the middle of any phase of an update, by any algorithm, a store is at the version before it or after it,
whole, and the update can be made again."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cli import done
from tests.support.counting import stored
from tests.support.crash import kill_in_phase
from tests.support.writers import EX, ONTOLOGY, people, state
from triplestore.storage.versions import Versions

CALLS = (1, 60)
"""Calls of functions in a phase before the end comes: at its beginning, and in its middle (or at its end)."""
AT_ITS_END = 1 << 30

DRED, BF = ("overdelete", "rederive"), ("doubt", "check", "apply")
PHASES = {
    "backward-forward": BF,
    "dred": DRED,
    "fixpoint-update": DRED,
    "dred-counting": DRED,
    "backward-forward-counting": BF,
}
AROUND = ("read", "net", "insert", "violations", "write", "publish")


@dataclass(frozen=True)
class Given:
    """A store, an update of it, and what it says before and after."""

    store: Path
    patch: Path
    before: str
    after: str


def _given(folder: Path, *options: str) -> Given:
    """The people of `test_durability`; one gets the e-mail address of another, one who shared one gets his own, and an
    axiom goes."""
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "people.nt").write_text(people(0, 60))
    (folder / "change.rdfp").write_text(
        f'TX .\nD <{EX}p10> <{EX}email> "9@ex" .\nA <{EX}p10> <{EX}email> "10@ex" .\nA <{EX}p7> <{EX}email> "1@ex" .\n'
        f"D <{EX}Student> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{EX}Person> .\nTC .\n"
    )
    kg, whole = folder / "kg", folder / "whole"
    done("load", kg, folder / "ontology.ttl", folder / "people.nt", "-q", *options)
    shutil.copytree(kg, whole)
    done("update", whole, folder / "change.rdfp", "-q", "--maintain", "dred")
    return Given(kg, folder / "change.rdfp", state(kg), state(whole))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """A store of the default kind."""
    return _given(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """A store that keeps derivation counts."""
    return _given(tmp_path_factory.mktemp("counting"), "--equality", "axioms", "--counting")


@pytest.mark.long
@pytest.mark.parametrize(("algorithm", "calls"), [(name, calls) for name in PHASES for calls in CALLS])
def test_killed_in_each_phase(plain: Given, counting: Given, algorithm: str, calls: int, tmp_path: Path) -> None:
    given = counting if "counting" in algorithm else plain
    update = ("update", tmp_path / "kg", given.patch, "--maintain", algorithm)
    first = Versions(given.store).read().version
    found = []
    phases = [*AROUND[:2], *PHASES[algorithm], *AROUND[2:]]
    for phase, after in [*((phase, calls) for phase in phases), ("publish", AT_ITS_END)]:
        shutil.copytree(given.store, tmp_path / "kg")
        assert kill_in_phase(phase, after, update, tmp_path), phase
        found.append(Versions(tmp_path / "kg").read().version - first)
        assert state(tmp_path / "kg") == (given.before, given.after)[found[-1]], phase
        if found[-1] == 0:
            done(*update, "-q")
        assert state(tmp_path / "kg") == given.after
        shutil.rmtree(tmp_path / "kg")
    assert found == [0] * len(phases) + [1], "only the end of the last phase is too late"


def test_killed_while_counts_are_written(counting: Given, tmp_path: Path) -> None:
    shutil.copytree(counting.store, tmp_path / "kg")
    update = ("update", tmp_path / "kg", counting.patch, "--maintain", "backward-forward-counting")
    assert kill_in_phase("write", 400, update, tmp_path)
    assert state(tmp_path / "kg") == counting.before
    assert sorted(stored(tmp_path / "kg", "count")) == sorted(stored(counting.store, "count"))
    done(*update, "-q")
    found = sorted(stored(tmp_path / "kg", "count"))
    done("materialise", tmp_path / "kg", "-q")
    assert found == sorted(stored(tmp_path / "kg", "count"))


def test_a_phase_that_there_is_not(plain: Given, tmp_path: Path) -> None:
    shutil.copytree(plain.store, tmp_path / "kg")
    assert not kill_in_phase("no such phase", 1, ("update", tmp_path / "kg", plain.patch), tmp_path)
    assert state(tmp_path / "kg") == plain.after
