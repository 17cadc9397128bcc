"""The normal form of a sequence of operations on quads does what the operations do one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.write.test_graph_histories import Model, Quad
from triplestore.model.dataset import ASSERTED, DEFAULT
from triplestore.model.errors import UsageError
from triplestore.write.pending import Pending

TRIPLES = [("<u:s>", "<u:p>", f'"{n}"') for n in range(2)]
PLACES: list[Quad] = [(), (DEFAULT,), ("<u:g>",), ("<u:h>",)]

quads = st.builds(lambda triple, place: (*triple, *place), st.sampled_from(TRIPLES), st.sampled_from(PLACES))
operations = st.lists(st.tuples(st.sampled_from([True, False, None]), st.lists(quads, max_size=3)), max_size=8)


@given(st.sampled_from(["union", "separate"]), st.lists(quads), operations)
def test_pending_is_what_the_operations_do_in_turn(
    default_graph: str, start: list[Quad], operations: list[tuple[bool | None, list[Quad]]]
) -> None:
    one_by_one, net = (Model(default_graph == "union") for _ in range(2))
    for quad in start:
        one_by_one.add(quad)
        net.add(quad)
    pending = Pending(default_graph)
    for insert, some in operations:
        if insert is None:
            one_by_one.quads.clear()
            pending.remove_all()
            continue
        pending.put(insert, some)
        for quad in some:
            (one_by_one.add if insert else one_by_one.delete)(quad)
    if pending.clear:
        net.quads.clear()
    for quad in () if pending.clear else pending.delete:
        net.delete(quad)
    for quad in pending.add:
        net.add(quad)
    assert net.quads == one_by_one.quads
    assert not any(quad[3:] == (DEFAULT,) for quad in pending.add)
    both = pending.add.keys() & pending.delete.keys()
    assert not both or (default_graph == "union" and {len(quad) for quad in both} == {3})


@pytest.mark.parametrize("insert", [True, False])
def test_a_part_of_the_default_graph_is_no_graph(insert: bool) -> None:
    pending = Pending("union")
    with pytest.raises(UsageError, match="not a graph that can be changed"):
        pending.put(insert, [(*TRIPLES[0], ASSERTED)])
    assert not pending
