"""What a store can say of itself: why triples hold, which terms are one and why, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from triplestore.model.arguments import check_text, check_whole
from triplestore.model.errors import UsageError
from triplestore.model.terms import from_rdflib
from triplestore.read import equality, proofs, search, suspects
from triplestore.read.equality import EqualityStats
from triplestore.read.proofs import Violation
from triplestore.read.search import Hit
from triplestore.read.session import Session, in_turn
from triplestore.read.suspects import Suspect

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rdflib.term import Node

    from triplestore.proof.cuts import Cut
    from triplestore.proof.proof import Proof
    from triplestore.proof.why_same import Chain, EqualityClass


class Explained:
    """A store at one of its versions, whose closure and equalities can be explained."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns = session.turns

    @in_turn
    def equality_classes(self, most: int = 10, members: int = 50) -> list[tuple[int, list[Node]]]:
        """The largest classes of equal terms: the size of each, and its first members (the first represents)."""
        check_whole("most", most)
        check_whole("members", members)
        return equality.equality_classes(self._session, most, members)

    @in_turn
    def check(self, limit: int | None = None, by: bool = False) -> list[Violation]:
        """The inconsistencies: rule id and triples at fault, as they are asserted where they are, in a stable order;
        `limit` of each rule at most.

        by: also look for the rules by which two values are one, and for proofs of what rests on equal terms.
        """
        check_whole("limit", limit, none="all")
        return proofs.check(self._session, limit, by)

    @in_turn
    def explain(self, triple: Any) -> Proof | None:
        """Why a triple (rdflib terms) of the closure holds: a proof of smallest depth, down to asserted triples. None
        if it does not hold."""
        if isinstance(triple, str) or not isinstance(triple, Sequence) or len(triple) < 3:
            raise UsageError(
                f"{triple!r} is not a triple: give a tuple of subject, predicate and object, all rdflib terms"
            )
        s, p, o = triple[:3]
        return proofs.explain(self._session, (from_rdflib(s), from_rdflib(p), from_rdflib(o)))

    @in_turn
    def explain_violation(self, rule: str, number: int = 1) -> Proof:
        """Why the closure is inconsistent: a proof of the violation of that number (from 1) of a rule in `check`."""
        check_text("rule", rule)
        check_whole("number", number, 1)
        return proofs.explain_violation(self._session, rule, number)

    @in_turn
    def why_same(self, left: Node, right: Node) -> Chain | None:
        """Why two terms (rdflib's) are one: the shortest chain of links between them, each with its rule and the
        asserted triples behind it. None if they are not one. Raises UsageError with equality off."""
        return proofs.why_same(self._session, from_rdflib(left), from_rdflib(right))

    @in_turn
    def equality_class(self, term: Node, most: int | None = 20) -> EqualityClass | None:
        """The class of terms that are one with a term (rdflib's): members, links, and up to `most` bridges (None:
        all), links without which it would fall apart. None if the term equals no other."""
        check_whole("most", most, none="all")
        return proofs.equality_class(self._session, from_rdflib(term), most)

    @in_turn
    def plot_class(self, term: Node, ax: Axes | None = None) -> Axes:
        """Draw the class of terms that are one with a term (rdflib's): members, what joins them, bridges thick and red.
        ax: where; None: on a figure of its own (extra `plots`). Raises UsageError if the term equals no other."""
        from triplestore.read.plots import plot_class  # when asked for: a store opens without it

        found = proofs.equality_class(self._session, from_rdflib(term), 0)
        if found is None:
            raise UsageError(f"{from_rdflib(term)} equals no other term")
        return plot_class(found, self._session.manifest.prefixes, ax)

    @in_turn
    def cuts(self, left: Node, right: Node, most: int = 5) -> list[Cut]:
        """The sets of links without which two terms (rdflib's) are two, up to `most`: those first whose links are most
        likely wrong. Each is minimal; none if the terms are not one. Raises UsageError with equality off."""
        check_whole("most", most)
        return suspects.cuts(self._session, from_rdflib(left), from_rdflib(right), most)

    @in_turn
    def suspects(self, most: int | None = 10) -> list[Suspect]:
        """The links that make terms equal, by asserted equalities and keys, those most likely wrong first: up to `most`
        (None: all), each with its reasons and the asserted triples to delete. Raises UsageError with equality off."""
        check_whole("most", most, none="all")
        return suspects.suspects(self._session, most)

    @in_turn
    def search(
        self, text: str, most: int | None = 20, properties: Sequence[Node] = (), language: str | None = None
    ) -> list[Hit]:
        """The terms of which some literal has words, those first that it fits best: up to `most` (None: all), of equal
        terms the one that represents. text: words, "phrases", prefixes (`rembr*`), AND, OR, NOT, as `text:query` has
        them. properties: the literals' (rdflib terms; none: any); language: of the literals, as "en".

        Raises UsageError for a text that cannot be searched for."""
        check_text("what to search for", text)
        check_whole("most", most, none="all")
        return search.search(self._session, text, most, [from_rdflib(term) for term in properties], language)

    @in_turn
    def equality_stats(self, most: int = 10) -> EqualityStats:
        """What terms are one, and why, over the whole store; keys as `triplake stats --same-as --json` documents them.

        most: the largest classes that are listed. Raises UsageError with equality off.
        """
        check_whole("most", most)
        return equality.equality_stats(self._session, most)

    @in_turn
    def violated(self) -> dict[str, int]:
        """How many inconsistencies there are of each rule, by the rule's id."""
        return proofs.violated(self._session)
