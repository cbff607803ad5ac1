"""Large results are written past the caches, where their addresses allow it, with the bits of any other launch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime.backend import load
from lazyarray.runtime.execute import layout_of
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Stage, Store
from lazyarray_llvm.launch import Launcher
from lazyarray_llvm.lower import streaming

ADD: Kernel = Kernel(
    ("p", "p"),
    (Access("f8", ("s", "1")), Access("f8", ("s", "1"))),
    (),
    (
        Stage(
            "full",
            (Instruction(0, "load", (), "f8", 0), Instruction(1, "add", (0, 0), "f8")),
            stores=(Store(1, 1),),
        ),
    ),
)


def standardise(np: Any, x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a sum": lambda np, x: x * 2 + 1,
    "a long body": lambda np, x: np.sin(x) * np.cos(x) + np.tanh(x),
    "rows": softmax,
    "columns": standardise,
    "two of nothing": lambda np, x: (np.sin(np.arange(x.size) * 0.01), np.cos(np.arange(x.size) * 0.01)),
    "two of bytes": lambda np, x: channels(np, numpy.asarray(x)),
    "two results": lambda np, x: (x + 1, x[::-1] * 2),
    "a mask": lambda np, x: x > 0.5,
    "complex": lambda np, x: x * 1j + x,
    "half": lambda np, x: (x * 3).astype("f2"),
    "bytes": lambda np, x: (x * 200).astype("u1"),
    "transposed": lambda np, x: x.T + 1,
    "running": lambda np, x: np.cumsum(x, axis=1) * 2,
    "a scalar": lambda np, x: np.full(x.shape, 0.25),
    "in place": lambda np, x: increased(np.array(x)),
    "a part": lambda np, x: changed(np.array(x)),
}


def channels(np: Any, x: Any) -> Any:
    """Bytes three apart are read without a mask of the vectors that are cut short."""
    image = np.asarray((x * 200).astype("u1").reshape(-1)[: x.size // 3 * 3].reshape(-1, 3))
    return np.sin(image[:, 0] * 0.1), np.cos(image[:, 1] * 0.1)


def increased(x: Any) -> Any:
    x += 1
    x *= 2
    return x


def changed(x: Any) -> Any:
    x[1:, 1:] = x[:-1, :-1] * 2
    return x


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the caches held nothing, and all results began lines; kernels are bound anew."""
    monkeypatch.setattr(streaming, "cache_bytes", lambda: 0)
    monkeypatch.setattr("lazyarray.runtime.pool._POOLED_FROM", 1)
    monkeypatch.setattr("lazyarray.runtime.running.plans", {})


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("shape", [(64, 512), (37, 512), (40, 500), (3, 70_001), (70_001, 3), (1000, 64)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_other_launches(name: str, dtype: str, shape: tuple[int, int]) -> None:
    x = numpy.random.default_rng(1).random(shape).astype(dtype)
    with np.config.set(eager_below=0):
        found = PROGRAMS[name](np, np.asarray(x))
        np.evaluate(found)
    expected = PROGRAMS[name](numpy, x)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", ["a sum", "a long body", "rows", "columns", "complex", "half", "bytes", "running"])
def test_these_programs_stream(name: str) -> None:
    if load("llvm").about()["vectors of"] != "512 bits":
        pytest.skip("needs vectors as long as lines of the cache")
    x = np.asarray(numpy.random.default_rng(1).random((64, 512)))
    with np.config.set(eager_below=0), np.record_runs() as runs:
        result = np.evaluate(PROGRAMS[name](np, x))
    ((plan, *_),) = runs.plans
    assert all(ready.launcher._past for ready in layout_of(plan).readies)
    assert numpy.asarray(result).ctypes.data % streaming.LINE == 0


def launcher(extents: tuple[int, int], row: int = 0) -> Launcher:
    program = load("llvm").compile(ADD)
    rows = (row or extents[1] * 8, 8)
    found: Launcher = program.launcher(extents, (rows, rows))
    return found


def test_only_results_that_no_cache_holds_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "cache_bytes", lambda: 8 * 128 * 128)
    if load("llvm").about()["vectors of"] != "512 bits":
        pytest.skip("needs vectors as long as lines of the cache")
    assert launcher((128, 128))._past == (1,)
    assert launcher((127, 128))._past == ()  # fits
    assert launcher((200, 127))._past == ()  # rows begin within lines


def test_what_is_in_the_caches_or_begins_within_a_line_is_written_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "cache_bytes", lambda: 1)
    here = launcher((128, 128))
    if not here._past:
        pytest.skip("needs vectors as long as lines of the cache")
    assert here._passes([4096, 8192])
    assert not here._passes([4096, 8200])
    assert not here._passes([4096, 4096])


def test_the_emitted_code_has_both_ways_and_waits_for_what_was_streamed() -> None:
    program = type(load("llvm"))().compile(ADD)  # of a backend of which nobody has used another form of it
    if load("llvm").about()["vectors of"] != "512 bits":
        pytest.skip("needs vectors as long as lines of the cache")
    assert "!nontemporal" in program.source
    assert "sse.sfence" in program.source


def test_a_row_as_short_as_one_vector_is_streamed() -> None:
    if load("llvm").about()["vectors of"] != "512 bits":
        pytest.skip("needs vectors as long as lines of the cache")
    source = type(load("llvm"))().compile(ADD).source
    assert re.search(r"store <8 x double> .*!nontemporal", source)
    assert re.search(r"store <16 x double> .*!nontemporal", source)


def sources_of(program: Callable[[Any], Any], x: Any) -> list[str]:
    """The emitted code of the kernels that evaluate a program."""
    with np.config.set(eager_below=0), np.record_runs() as runs:
        np.evaluate(program(x))
    backend = type(load("llvm"))()  # of which nobody has used another form of the kernels
    return [backend.compile(kernel).source for plan, *_ in runs.plans for kernel in plan.kernels]


def source_of(program: Callable[[Any], Any], x: Any) -> str:
    """The emitted code of the one kernel that evaluates a program."""
    (source,) = sources_of(program, x)
    return source


def test_a_row_that_is_walked_twice_asks_for_the_next() -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 300)))
    assert "llvm.prefetch" in source_of(lambda x: softmax(np, x), x)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_walk_that_reduces_memory_asks_for_what_it_reads_later(axis: int | None) -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 8)))
    assert "llvm.prefetch" in source_of(lambda x: x.sum(axis=axis), x)


def test_short_rows_that_lie_apart_are_asked_for_by_rows() -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 50)))
    assert "%rows.ahead" in source_of(lambda x: x[:, :20].sum(axis=1), x)


def test_a_long_body_asks_for_what_it_reads_later_and_a_short_one_does_not() -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 300)))
    assert "llvm.prefetch" in source_of(lambda x: np.sin(x) * x, x)
    assert "llvm.prefetch" not in source_of(lambda x: x * x + 1, x)


def test_what_writes_less_than_it_reads_asks_for_what_it_reads_later() -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 300)))
    for program in (lambda x: x > 0.5, lambda x: (x * 2.0).astype("f4"), lambda x: (x * 200.0).astype("u1")):
        assert "llvm.prefetch" in source_of(program, x)
    assert "llvm.prefetch" not in source_of(lambda x: x * 2, np.asarray(numpy.arange(5000, dtype="i4")))


@pytest.mark.parametrize("asked", [2, 3, 4])
def test_channels_of_narrow_elements_are_asked_for(asked: int) -> None:
    image = np.asarray(numpy.random.default_rng(1).integers(0, 256, (30, 40, asked), "u1"))
    source = source_of(lambda x: (0.25 * x[..., 0] + 0.75 * x[..., 1] - 1.0).astype("u1"), image)
    assert "llvm.prefetch" in source


def test_an_image_in_eight_channels_is_not_asked_for() -> None:
    image = np.asarray(numpy.random.default_rng(1).integers(0, 256, (30, 40, 8), "u1"))
    assert "llvm.prefetch" not in source_of(lambda x: x[..., 0] + x[..., 1], image)


def test_narrow_elements_that_become_wide_ones_are_not_asked_for() -> None:
    x = np.asarray(numpy.random.default_rng(1).integers(0, 256, 5000, "u1"))
    assert "llvm.prefetch" not in source_of(lambda x: x * 0.5 + 1.0, x)


def test_additions_at_index_arrays_and_float16_ask_for_what_they_read_later() -> None:
    places = np.asarray(numpy.random.default_rng(1).integers(0, 50, 5000))
    weights = np.asarray(numpy.random.default_rng(1).random(5000))
    texts = sources_of(lambda x: np.bincount(x, weights), places)
    (adding,) = [text for text in texts if re.search(r"add v\d+ to \d+ at", text)]
    assert "llvm.prefetch" in adding
    half = np.asarray(numpy.random.default_rng(1).random(5000).astype("f2"))
    assert "llvm.prefetch" in source_of(lambda x: x * x + x * 3 - 1, half)


def test_an_argmax_of_columns_asks_for_rows_to_come_and_a_sum_of_columns_does_not() -> None:
    x = np.asarray(numpy.random.default_rng(1).random((300, 300)))
    for name, asks in (("argmax", True), ("sum", False)):
        source = source_of(lambda x, name=name: getattr(x, name)(axis=0), x)
        assert "%rows.ahead" in source  # where all columns are one vector
        assert (len(re.findall(r"%later[.0-9]* = getelementptr", source)) > 1) is asks
