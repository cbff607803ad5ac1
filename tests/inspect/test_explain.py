"""`explain` tells what will run and what ran, with the user's lines and the reasons for what costs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import InspectError
from lazyarray.runtime import evaluate

HERE = str(Path(__file__))


def source(rows: int = 100) -> np.ndarray:
    return np.asarray(numpy.random.default_rng(0).random((rows, 200)))


def test_a_pending_array_is_planned_and_stays_pending() -> None:
    x = source()
    y = np.sin(x) * 2.0 + 1.0
    with np.record_runs() as runs:
        found = np.explain(y)
    assert not runs.kernels
    assert not found.evaluated
    (kernel,) = found.kernels
    assert [operation.name for operation in kernel.operations] == ["sin", "multiply", "add"]
    assert {o.line.text for o in kernel.operations if o.line} == {"y = np.sin(x) * 2.0 + 1.0"}
    assert {o.line.file for o in kernel.operations if o.line} == {HERE}
    assert (kernel.bytes_read, kernel.bytes_written) == (x.nbytes, x.nbytes)
    assert found.unfused == 6 * x.nbytes  # three passes, each reads and writes


def test_explaining_twice_finds_the_same_and_takes_no_turn_of_releasing_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An evaluation takes along results that release memory once enough was made since the last look for them."""
    monkeypatch.setattr(evaluate, "HELD_UNSEEN", 1 << 18)
    held = np.evaluate(np.asarray(numpy.ones(1 << 16)) * 2.0)
    small = held[::2] + 1.0
    del held
    y = np.sin(source())
    first, second = np.explain(y), np.explain(y)
    assert str(first) == str(second)
    with np.record_runs() as runs:
        np.evaluate(y)
    assert len(runs.kernels) == len(first.kernels) == 2
    assert small[0] == 3.0


def test_an_evaluated_array_tells_what_made_it() -> None:
    y = np.evaluate(np.exp(source()) - 1.0)
    found = np.explain(y)
    assert found.evaluated
    assert [operation.name for operation in found.kernels[0].operations] == ["exp", "subtract"]


def test_inputs_and_small_arrays_were_made_by_no_kernel() -> None:
    found = np.explain(np.ones(3), np.ones(3) + 1.0)
    assert not found.kernels
    assert found.at_once == 2


def test_a_cut_says_why() -> None:
    x = source()
    found = np.explain(x.sum(axis=0) + 1.0, np.ones((7, 5000)) + 2.0)
    assert "its loops have other extents" in str(found)


def test_values_that_nobody_asked_for_say_why_they_are_in_memory() -> None:
    x = source(200)
    found = np.explain((x + 1.0) @ (x - 1.0).T)
    assert {reason.why for reason in found.reasons} == {"the library call matmul reads it"}
    assert {reason.what for reason in found.reasons} == {"312.5 KiB in memory that nobody asked for"}
    assert [call.name for call in found.calls] == ["matmul"]


def test_a_call_tells_its_fallbacks_and_early_evaluations() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="raise"):
            y = 1.0 / (x + 1.0)
        return np.sort(y + 1.0) * 2.0

    found = np.explain(program, source())
    assert [reason.what for reason in found.reasons if "NumPy" in reason.what] == ["sort ran in NumPy, 1 time"]
    by_kind = {reason.kind: reason for reason in found.reasons}
    assert by_kind["fallback"].line is not None
    assert by_kind["fallback"].line.text == "return np.sort(y + 1.0) * 2.0"
    assert by_kind["fallback"].nbytes == 160_000
    assert "np.errstate" in by_kind["evaluation"].edit
    assert by_kind["evaluation"].line is not None
    assert by_kind["evaluation"].line.text == "y = 1.0 / (x + 1.0)"
    assert [o.name for k in found.kernels for o in k.operations] == ["add", "multiply"]


def test_other_things_are_refused() -> None:
    with pytest.raises(InspectError, match="not list"):
        np.explain([1, 2])
    with pytest.raises(InspectError, match="takes arrays"):
        np.explain()


def test_what_a_loop_repeats_is_told_once() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        for _ in range(5):
            x = np.evaluate(x * 0.5 + x.max())
        return x

    text = str(np.explain(program, source(1000)))
    assert text.startswith("ran 10 kernels")
    assert len(re.findall(r"\nkernel \d+: ", text)) == 2
    assert text.count(", 5 times\n") == 2
    assert "(and 4 more like it)" in text


def test_what_the_passes_made_has_the_line_of_what_it_is_made_of() -> None:
    x = np.evaluate(source() + 0.0)
    y = np.roll(x, 3, axis=1) * 2.0
    for kernel in np.explain(y).kernels:
        assert {o.line.text for o in kernel.operations if o.line} == {"y = np.roll(x, 3, axis=1) * 2.0"}
        assert all(o.line is not None for o in (*kernel.operations, *kernel.outputs))


def test_notebooks_get_html() -> None:
    found = np.explain(np.sqrt(source() < 1.0) @ np.ones((200, 3)))
    text = found._repr_html_()
    assert text.startswith("<div><p>will run 1 kernel and 1 library call")
    assert text.count("<table>") == 2
    assert "source() &lt; 1.0" in text
    for tag in ("div", "table", "tr", "td", "details", "pre"):
        assert text.count(f"<{tag}>") + text.count(f"<{tag} ") == text.count(f"</{tag}>")


def test_what_a_kernel_reads_and_makes_is_told() -> None:
    x = source()
    (kernel,) = np.explain(x.sum(axis=1)).kernels
    assert [(o.dtype, o.shape, o.where) for o in kernel.inputs] == [("f8", (100, 200), "input")]
    assert [(o.dtype, o.shape, o.where) for o in kernel.outputs] == [("f8", (100,), "result")]
    assert "sum(" in kernel.loops


def test_steps_are_told_in_the_order_in_which_they_run() -> None:
    x = source()
    found = np.explain((x + 1.0) @ (x - 1.0).T + 2.0)
    assert [type(step).__name__ for step in found.steps] == ["KernelNote", "CallNote", "KernelNote"]
    assert found.calls[0].bytes_read == 2 * x.nbytes
    assert found.calls[0].bytes_written == 100 * 100 * 8


def test_a_value_that_is_computed_twice_is_told_with_its_line() -> None:
    y = source() + 1.0
    found = np.explain(y[1:] - y[:-1])
    (reason,) = [reason for reason in found.reasons if reason.kind == "recomputation"]
    assert reason.what == "add is computed 2 times for each element"
    assert reason.line is not None
    assert reason.line.text == "y = source() + 1.0"


def test_a_value_that_two_evaluations_compute_is_told_with_its_line() -> None:
    def program(x: np.ndarray, first: bool) -> np.ndarray:
        y = x * 2.0 + 1.0
        if first:
            np.evaluate(y)
        return y - float(y.sum())

    (reason,) = [r for r in np.explain(program, source(), False).reasons if r.kind == "recomputation"]
    assert reason.what == "multiply add computed again"
    assert reason.line is not None
    assert reason.line.text == "y = x * 2.0 + 1.0"
    assert not [r for r in np.explain(program, source(), True).reasons if r.kind == "recomputation"]


def test_a_value_asked_for_inside_a_call_is_an_early_evaluation() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        for _ in range(3):
            x = x * 0.5
            print(end="" if float(x.max()) > 0 else "-")
        return x

    (reason,) = [reason for reason in np.explain(program, source()).reasons if reason.kind == "evaluation"]
    assert (reason.what, reason.why) == ("early evaluation, 3 times", "asked for")
    assert "less often" in reason.edit
    assert reason.line is not None
    assert "float(x.max())" in reason.line.text


def test_a_copy_before_a_write_says_how_to_avoid_it() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        products = x @ x.T
        x[3] = 7.0
        np.evaluate(x)
        return products

    x = np.evaluate(source() + 0.0)
    with np.config.set(eager_below=1024):  # short products of memory are made at once
        (reason,) = [reason for reason in np.explain(program, x).reasons if reason.kind == "copy"]
    assert reason.nbytes == x.nbytes
    assert reason.edit.startswith("use or evaluate what was made of the array")
    assert reason.line is not None
    assert reason.line.text == "x[3] = 7.0"


def test_a_write_that_reads_what_it_overwrites_names_the_second_array() -> None:
    x = np.evaluate(source() + 0.0)
    x[1:] = x[:-1] * 2.0
    (reason,) = [reason for reason in np.explain(x).reasons if reason.kind == "materialisation"]
    assert reason.edit == "write into a second array and swap the two names: a, b = b, a"


def softmax(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e, e / e.sum(axis=1, keepdims=True)


def test_a_plan_before_evaluation_is_the_one_that_runs() -> None:
    e, y = softmax(source())
    before = np.explain(y)
    again = np.explain(y)
    np.evaluate(y)
    after = np.explain(y)
    assert (before.steps, before.reasons) == (again.steps, again.reasons) == (after.steps, after.reasons)
    assert not before.evaluated
    assert after.evaluated
    assert np.explain(e).evaluated


def test_what_is_kept_for_its_name_says_so_and_how_to_avoid_it() -> None:
    e, y = softmax(source())
    (reason,) = np.explain(y).reasons
    assert (reason.kind, reason.nbytes) == ("materialisation", e.nbytes)
    assert reason.why == "the program still names it, and computing it again would cost more than keeping it"
    assert "drop the name before" in reason.edit
    assert reason.line is not None
    assert reason.line.text == "e = np.exp(x - x.max(axis=1, keepdims=True))"
    assert [operand.where for operand in np.explain(y).kernels[0].outputs] == ["kept", "result"]
    del e
    assert np.explain(y).reasons == []


def test_looking_ahead_does_not_make_a_cheap_value_kept() -> None:
    x = source()
    cheap = x + 1.0
    y = np.sqrt(cheap) * 2.0
    for _ in range(3):
        (kernel,) = np.explain(y).kernels
        assert kernel.bytes_written == y.nbytes
    np.evaluate(y)
    (kernel,) = np.explain(np.abs(cheap)).kernels  # it was seen once: now it is kept
    assert kernel.bytes_written == 2 * y.nbytes


def test_what_is_computed_along_says_why() -> None:
    x = np.evaluate(source() + 0.0)
    mean, total = x.mean(axis=0), x.sum()
    (reason,) = [r for r in np.explain(total).reasons if r.kind == "evaluation"]
    assert (reason.kind, reason.why) == ("evaluation", "it is small, and needs nothing but what is read anyway")
    before = x * 2.0
    x[0] = 1.0
    (reason,) = [r for r in np.explain(x).reasons if r.kind == "evaluation" and r.nbytes == before.nbytes]
    assert reason.why == "it reads memory that is written over: computed before, it saves a copy"
    assert mean.shape == (200,)


def test_a_call_that_returns_numpys_arrays_is_told_and_a_scalar_is_no_early_evaluation() -> None:
    x = source()
    assert [kernel.name for kernel in np.explain(lambda: numpy.asarray(x * 2.0)).kernels] == [
        "elementwise 100x200 (1 ops)"
    ]
    assert np.explain(lambda: (x * 2.0).sum()).reasons == []


def test_a_read_under_a_mask_says_that_its_shape_is_what_is_asked_for() -> None:
    x = source()
    (reason,) = [r for r in np.explain(lambda: x[x > 0.5] * 2.0).reasons if r.kind == "evaluation"]
    assert reason.why == "a shape follows from the number of true elements"
    assert reason.edit.startswith("np.where(mask, a, b)")


def test_what_a_function_returns_is_evaluated_as_it_is() -> None:
    pair = softmax(source())
    assert np.evaluate(pair) is pair
    assert all(np.explain(array).evaluated for array in pair)
    first, [second, (third,)] = np.evaluate(source() + 1.0, [source() * 2.0, (source() * 3.0,)])
    assert np.explain(first, second, third).evaluated


def test_the_edges_of_a_padded_array_are_written_without_a_copy() -> None:
    found = np.explain(np.pad(source(400), ((2, 2), (3, 3)), mode="edge"))
    assert all(kernel.operations[-1].name == "update" for kernel in found.kernels)
    assert not [reason for reason in found.reasons if "still reads" in reason.why]


def test_what_is_kept_and_read_later_is_no_cost() -> None:
    def program(x: np.ndarray, again: bool) -> np.ndarray:
        e, y = softmax(x)
        np.evaluate(y)
        return e * 2.0 if again else y

    assert [r.kind for r in np.explain(program, source(), False).reasons] == ["materialisation"]
    assert np.explain(program, source(), True).reasons == []


def test_reasons_of_one_line_that_differ_in_size_are_told_as_one() -> None:
    def program(x: np.ndarray) -> list[np.ndarray]:
        return [np.evaluate((x[:n] + 1.0) @ x[:n].T) for n in (50, 60, 70)]

    found = np.explain(program, source())
    assert [reason.nbytes for reason in found.reasons] == [80_000, 96_000, 112_000]
    (told,) = [line for line in str(found).splitlines() if "nobody asked for" in line]
    assert told.startswith("281.2 KiB in memory that nobody asked for, in 3 values: the library call matmul reads it")


def test_reasons_are_told_by_kind_and_the_dearest_first() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        small = np.evaluate((x[:60] + 1.0) @ x[:60].T)
        return np.sort(np.evaluate((x + 1.0) @ x.T) + small[0, 0])

    lines = [line for line in str(np.explain(program, source())).splitlines() if line.startswith(("sort", "1", "9"))]
    assert [line.split(":")[0] for line in lines] == [
        "sort ran in NumPy, 1 time",
        "156.2 KiB in memory that nobody asked for",
        "93.8 KiB in memory that nobody asked for",
    ]


def test_a_call_that_needs_no_kernel_says_why() -> None:
    found = np.explain(lambda: np.ones(3) + 1.0)
    for text in (str(found), found._repr_html_()):
        assert f"arrays of fewer than {np.config.eager_below} elements (config.eager_below) run at once" in text
    assert not np.explain(lambda: source(400) + 1.0).is_empty


def test_scalars_that_are_put_into_a_small_array_are_told_as_such() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        totals = np.zeros(3)
        for k in range(3):
            totals[k] = (x * k).sum()
        return totals

    def collected(x: np.ndarray) -> np.ndarray:
        return np.stack([(x * k).sum() for k in range(3)])

    x = source(400)
    (reason,) = np.explain(program, x).reasons
    assert (reason.kind, reason.what) == ("evaluation", "early evaluation, 3 times")
    assert reason.why == "it is written into an array that is in memory, a small one for instance"
    assert reason.edit.startswith("collect the values in a list")
    found = np.explain(collected, x)
    assert not [reason for reason in found.reasons if reason.kind == "evaluation"]
    assert found.bytes_moved < np.explain(program, x).bytes_moved
    assert numpy.array_equal(program(x), collected(x))


def test_what_the_passes_put_around_an_operation_has_its_line() -> None:
    x = np.evaluate(source(400) * 2.0)
    y = np.evaluate(x[x > 1.0] ** -1.5)
    for kernel in np.explain(y).kernels:
        assert all(operation.line is not None for operation in kernel.operations)


def test_an_edit_of_an_assignment_is_not_told_of_a_function_that_assigns() -> None:
    def through(x: np.ndarray) -> np.ndarray:
        np.copyto(x[1:], x[:-1] * 2.0)
        return x

    (reason,) = [r for r in np.explain(through, np.evaluate(source() + 0.0)).reasons if r.kind == "materialisation"]
    assert reason.why == "the write would change elements that it still reads"
    assert reason.edit == ""


def test_a_copy_that_repeats_elements_has_its_line_and_no_edit_of_reshapes() -> None:
    y = np.broadcast_to(source(400)[:, None], (400, 3, 200)).reshape(1200, 200)
    y = np.broadcast_to(y[:, :, None], (1200, 200, 2)).reshape(1200, 400)
    found = np.explain(y)
    for kernel in found.kernels:
        (operation,) = kernel.operations
        assert operation.name == "copy"
        assert operation.line is not None
        assert "np.broadcast_to" in operation.line.text
    assert {reason.edit for reason in found.reasons} == {""}


def test_a_tile_is_one_kernel_of_its_line_and_nothing_to_change() -> None:
    found = np.explain(np.tile(source(400), (3, 2)))
    ((operation,),) = (kernel.operations for kernel in found.kernels)
    assert operation.line is not None
    assert "np.tile" in operation.line.text
    assert not found.reasons


def test_a_write_in_place_is_no_new_memory() -> None:
    x = np.evaluate(source() + 0.0)
    x[0] = x[1] * 3.0
    x[2] = x[0] + 1.0
    assert not [reason for reason in np.explain(x).reasons if reason.kind == "materialisation"]


def test_a_copy_that_the_program_makes_before_it_writes_is_the_only_one() -> None:
    def relax(p: np.ndarray) -> np.ndarray:
        old = p.copy()
        p[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2]) * 0.5
        np.evaluate(p)
        return old

    p = np.evaluate(source(400) + 0.0)
    before = p.to_numpy().copy()
    found = np.explain(relax, p)
    assert [[o.name for o in kernel.operations] for kernel in found.kernels] == [
        ["copy"],
        ["add", "multiply", "update"],
    ]
    (kept,) = [reason for reason in found.reasons if reason.kind != "cut"]
    assert (kept.nbytes, kept.why) == (
        p.nbytes,
        "it reads memory that is written over: computed before, it saves a copy",
    )
    wanted = before.copy()
    old = relax(np.array(before))
    wanted[1:-1, 1:-1] = (before[1:-1, 2:] + before[1:-1, :-2]) * 0.5
    assert numpy.array_equal(p, wanted)
    assert numpy.array_equal(old, before)


def test_an_array_that_the_program_fills_is_asked_for() -> None:
    x = source(400)
    out = np.empty_like(x)
    out[:200] = x[:200] * 2.0
    out[200:] = 1.0 / (x[200:] + 1.0)
    assert not [reason for reason in np.explain(out * 3.0).reasons if reason.kind == "materialisation"]


def test_a_read_under_a_mask_of_a_small_array_says_so_too() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        labels = x.sum(axis=1)
        return np.ones(100)[labels > 100.0]

    (reason,) = [r for r in np.explain(program, source()).reasons if r.what.startswith("early evaluation, ")]
    assert reason.why == "a shape follows from the number of true elements"


def test_memory_that_several_writes_share_is_told_once() -> None:
    y = np.pad(source(400) * 2.0, 2)
    assert [r.nbytes for r in np.explain(y[1:] + 1.0).reasons if r.kind == "materialisation"] == [404 * 204 * 8]


def test_functions_that_look_at_values_say_what_for() -> None:
    x = source(400)
    reasons = {
        "the bins lie between the least and the greatest element": lambda: np.histogram(x * 2.0, 50),
        "how many counts there are follows from the greatest element": lambda: np.bincount(
            (x * 9.0).astype(int).ravel()
        ),
        "the size or the elements of an array follow from it": lambda: np.arange(x.max() * 1e5),
    }
    for why, program in reasons.items():
        early = [r for r in np.explain(program).reasons if r.what.startswith("early evaluation, ")]
        assert [reason.why for reason in early] == [why]
    assert not [r for r in np.explain(lambda: np.histogram(x * 2.0, 50, (0, 2))).reasons if r.kind == "evaluation"]
