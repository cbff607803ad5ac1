"""Plans of index writes, selections and expansions: few kernels that mean, on the oracle, what the expression means."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarray.frontend.record import broadcast_, compress_, expand_, gather_, map_, reshape_, scatter_, update_
from lazyarray.ir.index_map import identity
from lazyarray.ir.node import PINNED, TAPE, Node, leaf
from lazyarray.schedule.plan import ClaimStep, KernelStep
from tests.schedule.test_fusion import planned

DRAW = np.random.default_rng(5)
ROWS, COLUMNS = 24, 40
MASK = DRAW.random((ROWS, COLUMNS)) < 0.4


@pytest.fixture(autouse=True)
def short_tape() -> None:
    """No evaluation because other tests have recorded much, or hold much memory: on a device its values stay there."""
    TAPE.clear()
    PINNED.clear()


@pytest.fixture
def x() -> Node:
    return leaf(DRAW.standard_normal((ROWS, COLUMNS)))


@pytest.fixture
def y() -> Node:
    return leaf(DRAW.standard_normal((ROWS, COLUMNS)))


@pytest.fixture
def mask() -> Node:
    return leaf(MASK.copy())


def rows(count: int) -> Node:
    return leaf(DRAW.integers(0, ROWS, count))


def test_a_scatter_is_one_kernel_with_its_values(x: Node, y: Node) -> None:
    places = rows(ROWS)
    plan = planned(scatter_(x, map_("add", (map_("multiply", (y, 2.0)), 1.0)), [places], (0,), 0))
    assert [type(step) for step in plan.steps] == [ClaimStep, KernelStep]
    (kernel,) = plan.kernels
    assert kernel.scatters
    (store,) = (store for stage in kernel.stages for store in stage.stores)
    assert kernel.accesses[store.access].steps[-1] == "1", "a row is walked, the offset is that of its beginning"


def test_scatters_in_every_place(x: Node) -> None:
    places = leaf(DRAW.integers(0, COLUMNS, (3, 5)))
    planned(scatter_(x, leaf(DRAW.standard_normal((ROWS, 3, 5))), [places], (1,), 1))
    planned(scatter_(x, leaf(DRAW.standard_normal((3, 5, ROWS))), [places], (1,), 0))
    both = [leaf(DRAW.integers(0, ROWS, (7, 1))), leaf(DRAW.integers(0, COLUMNS, 9))]
    planned(scatter_(x, leaf(DRAW.standard_normal((7, 9))), both, (0, 1), 0))
    planned(scatter_(x, 2.5, [rows(60)], (0,), 0))


def test_what_a_scatter_overwrites_is_read_before(x: Node) -> None:
    places = rows(ROWS)
    plan = planned(scatter_(x, map_("add", (gather_(x, [places], (0,), 0), x)), [places], (0,), 0))
    assert len(plan.kernels) == 2
    whole = planned(scatter_(x, x, [places], (0,), 0))
    assert whole.steps[0].copy  # type: ignore[union-attr]


def test_an_update_by_what_is_gathered_from_its_target(x: Node) -> None:
    region = identity((ROWS, COLUMNS))._replace(shape=(ROWS - 1, COLUMNS))
    moved = gather_(x, [rows(ROWS - 1)], (0,), 0)
    assert len(planned(update_(x, region, map_("multiply", (moved, 2.0)))).kernels) == 2


def test_selections_fuse_with_what_they_select_and_with_each_other(x: Node, y: Node, mask: Node) -> None:
    count = int(MASK.sum())
    left = compress_(mask, map_("multiply", (x, y)), (ROWS, COLUMNS), count)
    right = compress_(mask, y, (ROWS, COLUMNS), count)
    (kernel,) = planned(map_("add", (left, right))).kernels
    assert kernel.packs
    assert kernel.roles == ("p",)


def test_a_mask_over_rows(x: Node) -> None:
    chosen = MASK[:, 0]
    mask = reshape_(leaf(chosen.copy()), (ROWS, 1))
    count = int(chosen.sum()) * COLUMNS
    planned(compress_(mask, x, (ROWS, COLUMNS), count))
    values = leaf(DRAW.standard_normal(count))
    update = update_(x, identity((ROWS, COLUMNS)), expand_(mask, values, (ROWS, COLUMNS)), broadcast_(mask, x.shape))
    assert len(planned(update).kernels) == 1


def test_an_expansion_is_part_of_its_update_and_else_memory(x: Node, mask: Node) -> None:
    values = leaf(DRAW.standard_normal(int(MASK.sum())))
    spread = expand_(mask, values, (ROWS, COLUMNS))
    (kernel,) = planned(update_(x, identity((ROWS, COLUMNS)), spread, mask)).kernels
    assert kernel.packs
    assert len(planned(map_("where", (mask, map_("add", (spread, 1.0)), x))).kernels) == 2


def test_a_selection_that_goes_back_to_its_places_is_an_update(x: Node, mask: Node) -> None:
    chosen = map_("add", (compress_(mask, x, (ROWS, COLUMNS), int(MASK.sum())), 1.0))
    plan = planned(update_(x, identity((ROWS, COLUMNS)), expand_(mask, chosen, (ROWS, COLUMNS)), mask))
    (kernel,) = plan.kernels
    assert not kernel.packs


def test_what_only_a_selection_in_memory_is_added_to_is_not_written(x: Node, y: Node, mask: Node) -> None:
    count = int(MASK.sum())
    kept, left = (compress_(mask, source, (ROWS, COLUMNS), count) for source in (y, x))
    plan = planned(kept, map_("add", (map_("multiply", (left, left)), kept)))
    assert [kernel.packs for kernel in plan.kernels] == [True]
    assert sum(len(kernel.written) for kernel in plan.kernels) == 2


def test_selections_that_are_written_anyway_are_read_packed(x: Node, y: Node, mask: Node) -> None:
    count = int(MASK.sum())
    left, right = (compress_(mask, source, (ROWS, COLUMNS), count) for source in (x, y))
    plan = planned(left, right, map_("add", (left, right)))
    assert [kernel.packs for kernel in plan.kernels] == [True, False]


def test_a_selection_of_what_is_computed_is_computed_once(x: Node, y: Node, mask: Node) -> None:
    count = int(MASK.sum())
    kept = compress_(mask, map_("exp", (y,)), (ROWS, COLUMNS), count)
    left = compress_(mask, x, (ROWS, COLUMNS), count)
    plan = planned(kept, map_("add", (map_("multiply", (left, left)), kept)))
    assert sum(i.op == "exp" for k in plan.kernels for s in k.stages for i in s.body) == 1


def test_selections_by_one_mask_are_one_kernel(x: Node, y: Node, mask: Node) -> None:
    """Of arrays, of what is computed and of a row repeated: true elements are counted once."""
    shape, count = (ROWS, COLUMNS), int(MASK.sum())
    row = leaf(DRAW.integers(0, 9, COLUMNS))
    plan = planned(*(compress_(mask, source, shape, count) for source in (x, map_("exp", (y,)), row)))
    (kernel,) = plan.kernels
    assert [store.packed for stage in kernel.stages for store in stage.stores] == [True] * 3
    assert len({store.mask for stage in kernel.stages for store in stage.stores}) == 1


def test_selections_by_two_masks_are_two_kernels(x: Node, y: Node, mask: Node) -> None:
    shape, count = (ROWS, COLUMNS), int(MASK.sum())
    other = map_("logical_not", (mask,))
    kept = compress_(mask, x, shape, count)
    gone = compress_(other, y, shape, MASK.size - count)
    assert len(planned(kept, gone).kernels) == 2


def test_a_selection_of_what_was_selected_comes_later(x: Node, y: Node, mask: Node) -> None:
    """The second mask is as long as the first selection; a third selection by the first mask goes to its nest."""
    shape, count = (ROWS, COLUMNS), int(MASK.sum())
    kept = compress_(mask, x, shape, count)
    few = DRAW.random(count) < 0.5
    again = compress_(leaf(few), kept, (count,), int(few.sum()))
    beside = compress_(mask, y, shape, count)
    kernels = planned(kept, again, beside).kernels
    assert sorted(sum(s.packed for stage in k.stages for s in stage.stores) for k in kernels) == [1, 2]


def test_a_write_between_two_selections_keeps_what_the_second_reads(x: Node, y: Node, mask: Node) -> None:
    shape, count = (ROWS, COLUMNS), int(MASK.sum())
    first = compress_(mask, x, shape, count)
    changed = update_(y, identity((ROWS, COLUMNS)), map_("negative", (x,)))
    planned(first, changed, compress_(mask, y, shape, count), compress_(mask, changed, shape, count))
