"""Fusion makes few kernels, and the kernels it makes mean what the expression means (oracle: NumPy on the records)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyarray.ir.expression import capture, expression_of, pending_closure
from lazyarray.ir.node import Arg, Key, Node, leaf, record, spec_of
from lazyarray.runtime.execute import Run
from lazyarray.runtime.interpret import interpret
from lazyarray.schedule.kernel import Kernel
from lazyarray.schedule.plan import ClaimStep, KernelStep, Plan
from lazyarray.schedule.schedule import schedule
from tests.oracle import Oracle

ROWS, COLUMNS = 24, 40


@pytest.fixture
def x() -> Node:
    return leaf(np.random.default_rng(0).standard_normal((ROWS, COLUMNS)))


@pytest.fixture
def y() -> Node:
    return leaf(np.random.default_rng(1).standard_normal((ROWS, COLUMNS)))


def op(name: str, *args: Arg) -> Node:
    shape = np.broadcast_shapes(*[a.shape if isinstance(a, Node) else () for a in args])
    return record(Key("map", (name, ("f8",) * len(args)), spec_of(shape, np.dtype("f8"))), args)


def reduce(name: str, a: Node, *axes: int) -> Node:
    shape = tuple(n for k, n in enumerate(a.shape) if k not in axes)
    return record(Key("reduce", (name, axes, False, False), spec_of(shape, np.dtype("f8"))), (a,))


def view(a: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    return record(Key("view", (offset, strides), spec_of(shape, a.dtype)), (a,))


def update(old: Node, new: Arg, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    return record(Key("update", (offset, shape, strides, False), old.spec), (old, new))


def column(a: Node) -> Node:
    return view(a, 0, (ROWS, 1), (1, 0))


def planned(*targets: Node) -> Plan:
    """The plan of the targets, after checking that it computes what the expression means."""
    signature, sources = capture(pending_closure(targets), targets)
    expression = expression_of(signature)
    expected = interpret(expression, sources)
    plan = schedule(expression)
    run = Run(plan, sources, Oracle())
    run.run()
    for slot, value in zip(plan.outputs, expected, strict=True):
        np.testing.assert_array_equal(run.memory[slot], value, strict=True)
    return plan


def roles(plan: Plan) -> list[str]:
    return ["".join(k.roles) for k in plan.kernels]


def loads(kernel: Kernel) -> int:
    return sum(i.op == "load" for stage in kernel.stages for i in stage.body)


def test_an_elementwise_chain_is_one_flat_loop(x: Node, y: Node) -> None:
    a, b = op("sin", x), op("cos", y)
    plan = planned(op("maximum", op("multiply", op("add", op("multiply", a, b), x), y), 0.0))
    assert roles(plan) == ["p"]
    assert loads(plan.kernels[0]) == 2


def test_row_softmax_is_one_nest_that_keeps_the_exponentials(x: Node) -> None:
    e = op("exp", op("subtract", x, column(reduce("max", x, 1))))
    plan = planned(op("divide", e, column(reduce("sum", e, 1))))
    assert roles(plan) == ["pr"]
    (kernel,) = plan.kernels
    assert sum(i.op == "exp" for stage in kernel.stages for i in stage.body) == 1
    assert any(stage.kept for stage in kernel.stages)


def test_layer_norm_is_one_nest(x: Node) -> None:
    centred = op("subtract", x, column(op("divide", reduce("sum", x, 1), float(COLUMNS))))
    variance = op("divide", reduce("sum", op("multiply", centred, centred), 1), float(COLUMNS))
    assert roles(planned(op("divide", centred, op("sqrt", op("add", column(variance), 1e-5))))) == ["pr"]


def test_column_standardise_is_three_passes(x: Node) -> None:
    centred = op("subtract", x, op("divide", reduce("sum", x, 0), float(ROWS)))
    variance = op("divide", reduce("sum", op("multiply", centred, centred), 0), float(ROWS))
    assert roles(planned(op("divide", centred, op("sqrt", variance)))) == ["rp", "rp", "pp"]


def test_statistics_of_one_array_share_its_reading(x: Node) -> None:
    plan = planned(reduce("min", x, 0, 1), reduce("max", x, 0, 1), reduce("sum", x, 0, 1))
    assert roles(plan) == ["r"]
    assert loads(plan.kernels[0]) == 1


def test_a_stencil_update_writes_the_other_array_directly(x: Node, y: Node) -> None:
    def part(row: int, col: int) -> Node:
        return view(x, row * COLUMNS + col, (ROWS - 2, COLUMNS - 2), (COLUMNS, 1))

    neighbours = op("add", op("add", part(1, 0), part(1, 2)), op("add", part(0, 1), part(2, 1)))
    region = (COLUMNS + 1, (ROWS - 2, COLUMNS - 2), (COLUMNS, 1))
    plan = planned(update(y, op("multiply", neighbours, 0.25), *region))
    assert [type(s) for s in plan.steps] == [ClaimStep, KernelStep]


def test_an_update_that_reads_other_elements_of_its_own_memory_goes_through_a_temporary(x: Node) -> None:
    below = view(x, 0, (ROWS - 1, COLUMNS), (COLUMNS, 1))
    plan = planned(update(x, op("multiply", below, 2.0), COLUMNS, (ROWS - 1, COLUMNS), (COLUMNS, 1)))
    assert [type(s) for s in plan.steps] == [KernelStep, ClaimStep, KernelStep]


def test_an_update_that_reads_just_the_written_elements_does_not(x: Node) -> None:
    region = (COLUMNS, (ROWS - 1, COLUMNS), (COLUMNS, 1))
    same = view(x, COLUMNS, *region[1:])
    plan = planned(update(x, op("multiply", same, 2.0), *region))
    assert [type(s) for s in plan.steps] == [ClaimStep, KernelStep]


def test_copying_a_border_needs_no_temporary(x: Node) -> None:
    plan = planned(update(x, view(x, 1, (ROWS,), (COLUMNS,)), 0, (ROWS,), (COLUMNS,)))
    assert [type(s) for s in plan.steps] == [ClaimStep, KernelStep]


def test_the_old_value_is_copied_when_a_later_step_reads_it(x: Node) -> None:
    before = op("multiply", x, 2.0)
    after = update(x, 0.0, 0, (ROWS,), (COLUMNS,))
    plan = planned(after, op("add", after, before))
    (claim,) = [s for s in plan.steps if isinstance(s, ClaimStep)]
    assert claim.copy or plan.steps.index(claim) > 0


def test_a_common_subexpression_is_computed_once(x: Node) -> None:
    plan = planned(op("add", op("exp", x), op("multiply", op("exp", x), op("exp", x))))
    assert sum(i.op == "exp" for k in plan.kernels for s in k.stages for i in s.body) == 1


def test_an_expensive_stencil_operand_is_materialised(x: Node) -> None:
    e = op("exp", x)
    left = view(e, 0, (ROWS, COLUMNS - 1), (COLUMNS, 1))
    right = view(e, 1, (ROWS, COLUMNS - 1), (COLUMNS, 1))
    assert len(planned(op("subtract", right, left)).kernels) == 2


def test_slices_transposes_and_broadcasts_cost_no_kernel(x: Node, y: Node) -> None:
    flipped = view(op("add", x, 1.0), ROWS * COLUMNS - 1, (ROWS, COLUMNS), (-COLUMNS, -1))
    turned = view(op("multiply", y, 2.0), 0, (COLUMNS, ROWS), (1, COLUMNS))
    back = view(turned, 0, (ROWS, COLUMNS), (1, ROWS))
    row = view(x, 0, (1, COLUMNS), (COLUMNS, 1))
    assert len(planned(op("add", op("multiply", flipped, back), row)).kernels) == 1


def test_a_reshape_of_an_expression_fuses(x: Node, y: Node) -> None:
    flat = view(op("add", x, y), 0, (ROWS * COLUMNS,), (1,))
    assert roles(planned(op("sin", flat))) == ["p"]


def test_a_sum_over_rows_that_do_not_merge_runs_over_a_dense_copy(x: Node) -> None:
    inner = view(x, COLUMNS + 1, (ROWS - 2, COLUMNS - 2), (COLUMNS, 1))
    assert roles(planned(reduce("sum", inner, 0, 1))) == ["pp", "r"]


def test_plans_do_not_know_extents_or_scalars(x: Node) -> None:
    def kernel(rows: int, factor: float) -> Kernel:
        data = leaf(np.ones((rows, COLUMNS)))
        (found,) = planned(op("multiply", op("exp", data), factor)).kernels
        return found

    assert kernel(3, 0.5) == kernel(17, -2.25)


def test_a_broadcast_operand_is_not_computed_again_for_each_row(x: Node) -> None:
    row = leaf(np.linspace(0.0, 1.0, COLUMNS))
    plan = planned(op("add", x, op("sin", row)))
    sizes: list[Any] = [s.extents for s in plan.steps if isinstance(s, KernelStep)]
    assert sizes == [(COLUMNS,), (ROWS, COLUMNS)]


def test_a_long_chain_is_cut_into_few_kinds_of_kernels(x: Node) -> None:
    chain = x
    for _ in range(60):
        chain = op("multiply", op("sin", chain), 1.5)
    plan = planned(chain)
    assert len(plan.kernels) >= 2
    assert len(set(plan.kernels)) <= 2
    assert max(sum(len(s.body) for s in k.stages) for k in plan.kernels) < 150


def test_a_reduction_over_no_axes_is_a_copy(x: Node) -> None:
    scalar = leaf(np.array(3.0))
    assert len(planned(op("add", reduce("sum", scalar), 1.0)).kernels) == 1
    assert len(planned(reduce("max", x)).kernels) == 1


def test_an_array_reversed_into_itself_is_read_before_it_is_written(x: Node) -> None:
    reversed_rows = ((ROWS - 1) * COLUMNS, (ROWS, COLUMNS), (-COLUMNS, 1))
    planned(update(x, x, *reversed_rows))
    doubled = op("multiply", x, 2.0)
    planned(update(doubled, doubled, *reversed_rows))


def test_a_value_without_reduction_axes_fills_all_of_a_joined_result(x: Node) -> None:
    total = reduce("sum", x, 0, 1)
    planned(total, view(op("add", total, 1.0), 0, (ROWS, COLUMNS), (0, 0)))


def test_what_is_computed_of_a_transposed_array_is_the_copy_that_its_reshape_needs(x: Node, y: Node) -> None:
    turned, other = (view(a, 0, (COLUMNS, ROWS), (1, COLUMNS)) for a in (x, y))
    flat = view(op("multiply", turned, other), 0, (ROWS * COLUMNS,), (1,))
    plan = planned(op("add", flat, 1.0))
    assert [step.ops for step in plan.steps if isinstance(step, KernelStep)] == [("multiply",), ("add",)]


@pytest.mark.parametrize("shape", [(ROWS * 3, COLUMNS), (ROWS, 3 * COLUMNS), (ROWS * 3 * COLUMNS,), (8, 9, COLUMNS)])
def test_a_reshape_is_written_by_the_loops_of_what_it_is_made_of(x: Node, shape: tuple[int, ...]) -> None:
    doubled = op("multiply", view(x, 0, (ROWS, 3, COLUMNS), (COLUMNS, 0, 1)), 2.0)
    strides = tuple(np.empty(shape, np.int8).strides)
    reshaped = view(doubled, 0, shape, strides)
    assert len(planned(reshaped).kernels) == (1 if len(shape) < 3 else 2)
    assert len(planned(reshaped, doubled).kernels) == 2
    assert len(planned(reshaped, reduce("sum", reshaped, 0)).kernels) >= 2


def test_a_kernel_that_computes_nothing_is_called_a_copy(x: Node) -> None:
    (step,) = [s for s in planned(view(x, 0, (COLUMNS, ROWS), (1, COLUMNS))).steps if isinstance(s, KernelStep)]
    assert step.name == f"copy {COLUMNS}x{ROWS}"
