"""Kernels whose places depend on data: scatters, packed stores and `expand`, at any number of workers and lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_llvm import engine, threads
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.lower.emit import emit
from tests.backends.widths import backend_at
from tests.oracle import Oracle

CODES = ["b1", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
LENGTHS = [1, 2, 7, 8, 9, 17, 64, 65, 200, 5000, 70001]
I = Instruction  # noqa: E741
BACKENDS = [Oracle(), Backend()]


@pytest.fixture(params=[1, 3])
def workers(request: pytest.FixtureRequest) -> Iterator[int]:
    before = threads.get_pool().nthreads
    threads.get_pool(request.param)
    yield request.param
    threads.get_pool(before)


def data(code: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    if code == "b1":
        return draw.integers(0, 2, shape).astype(bool)
    if code[0] == "c":
        return (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(code)
    return draw.integers(0, 100, shape).astype(code)


def bind(extents: tuple[int, ...], *walks: tuple[np.ndarray, tuple[int, ...]]) -> Binding:
    return Binding(extents, tuple(a.ctypes.data for a, _ in walks), tuple(s for _, s in walks), ())


def masks(length: int) -> list[np.ndarray]:
    draw = np.random.default_rng(length)
    return [draw.random(length) < p for p in (0.0, 0.02, 0.5, 1.0)]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("masked", [False, True])
def test_a_scatter_leaves_the_last_of_what_meets(code: str, masked: bool) -> None:
    body = [I(0, "load", (), code, 0), I(1, "load", (), "i8", 1), I(2, "load", (), "b1", 2)]
    store = Store(3, 0, 2 if masked else None, 1)
    accesses = (Access(code, ("1",)), Access("i8", ("1",)), Access("b1", ("1",)), Access(code, ("0",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(store,)),))
    for length in LENGTHS[:-1]:
        values, places = data(code, (length,)), np.random.default_rng(1).integers(0, 50, length)
        mask = masks(length)[2]
        expected = data(code, (50,), 5)
        for place, value, wanted in zip(places, values, mask, strict=True):
            if wanted or not masked:
                expected[place] = value
        for backend in BACKENDS:
            target = data(code, (50,), 5)
            size = target.itemsize
            walks = [(values, (size,)), (places * size, (8,)), (mask, (1,)), (target, (0,))]
            backend.compile(kernel).launch(bind((length,), *walks))
            np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("code", CODES)
def test_a_scatter_that_adds_adds_all_that_meet_in_order(code: str, workers: int) -> None:
    body = (I(0, "load", (), code, 0), I(1, "load", (), "i8", 1))
    accesses = (Access(code, ("1",)), Access("i8", ("1",)), Access(code, ("0",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 0, None, 1, op="add"),)),))
    for length in LENGTHS[:-1]:
        values, places = data(code, (length,)), np.random.default_rng(1).integers(0, 50, length)
        expected = data(code, (50,), 5)
        np.add.at(expected, places, values)
        for backend in BACKENDS:
            target = data(code, (50,), 5)
            size = target.itemsize
            walks = [(values, (size,)), (places * size, (8,)), (target, (0,))]
            backend.compile(kernel).launch(bind((length,), *walks))
            np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("op", ["set", "add"])
@pytest.mark.parametrize("extents", [(1, 70001), (9, 5000), (5, 7, 400), (70001, 1)])
def test_rows_that_never_meet_are_written_side_by_side(op: str, extents: tuple[int, ...], workers: int) -> None:
    """The offset leads into the row of the first axis: the target has 11 elements for each of its indices."""
    rank = len(extents)
    body = (I(0, "load", (), "f8", 0), I(1, "load", (), "i8", 1))
    accesses = (Access("f8", ("s",) * (rank - 1) + ("1",)), Access("i8", ("s",) * (rank - 1) + ("1",)))
    target_access = Access("f8", ("0",) * rank)
    store = Store(2, 0, None, 1, op=op, apart=True)
    kernel = Kernel(("p",) * rank, (*accesses, target_access), (), (Stage("full", body, stores=(store,)),))
    values = data("f8", extents)
    rows = np.arange(extents[0]).reshape(-1, *(1,) * (rank - 1))
    places = rows * 11 + np.random.default_rng(1).integers(0, 11, extents)
    expected = np.zeros(11 * extents[0])
    if op == "add":
        np.add.at(expected, places, values)
    else:
        expected[places] = values
    target = np.zeros_like(expected)
    offsets = places * 8
    walks = [(values, values.strides), (offsets, offsets.strides), (target, (0,) * rank)]
    Backend().compile(kernel).launch(bind(extents, *walks))
    np.testing.assert_array_equal(target, expected)


def _counting(code: str, unit: int, moved: bool) -> Kernel:
    """One added per element at `unit` times its place; `moved`: behind the 11 elements of each row before."""
    body = [I(0, "load", (), code, 0), I(1, "const", (), "i8", 1), I(2, "cast", (0,), "i8")]
    body += [I(3, "const", (), "i8", unit), I(4, "multiply", (2, 3), "i8")]
    if moved:
        body += [I(5, "index", (), "i8", 0), I(6, "const", (), "i8", 11 * unit), I(7, "multiply", (5, 6), "i8")]
        body += [I(8, "add", (7, 4), "i8")]
    stores = (Store(1, 1, None, 8 if moved else 4, op="add", apart=moved),)
    accesses = (Access(code, ("s", "1")), Access("i8", ("0", "0")))
    return Kernel(("p", "p"), accesses, (), (Stage("full", tuple(body), stores=stores),))


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("extents", [(1, 70001), (9, 5003), (300, 8), (300, 3), (40, 700)])
def test_places_of_few_bits_are_counted_from_their_row(
    code: str, moved: bool, extents: tuple[int, int], workers: int
) -> None:
    kernel = _counting(code, 8, moved)
    places = np.random.default_rng(1).integers(0, 11, extents).astype(code)
    expected = np.full(11 * extents[0], 3)
    np.add.at(expected, (np.arange(extents[0])[:, None] * 11 if moved else 0) + places.astype(np.int64), 1)
    for backend in BACKENDS:
        target = np.full(11 * extents[0], 3)
        backend.compile(kernel).launch(bind(extents, (places, places.strides), (target, (0, 0))))
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize(("code", "bits"), [("u1", 32), ("i4", 32), ("u4", 64), ("i8", 64)])
def test_places_are_kept_in_as_few_bits_as_they_need(code: str, bits: int) -> None:
    text = emit(_counting(code, 8, moved=True), engine.host(), "whole")
    assert re.findall(r"alloca \[512 x (i\d+)\]", text) == [f"i{bits}"]


def packing(code: str, step: str = "1") -> Kernel:
    body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1))
    accesses = (Access(code, (step,)), Access("b1", ("1",)), Access(code, ("0",)))
    return Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 0, 1, packed=True),)),))


@pytest.mark.parametrize("code", CODES)
def test_packed_stores_write_what_the_mask_selects_and_nothing_else(code: str, workers: int) -> None:
    for length in LENGTHS:
        for mask in masks(length):
            values = data(code, (3 * length,))
            for step in (1, 3):
                part = values[:length] if step == 1 else values[::3]
                chosen = part[mask]
                for backend in BACKENDS[length > 5000 :]:
                    target = data(code, (len(chosen) + 70,), 5)
                    rest = target[len(chosen) :].copy()
                    walks = [(part, part.strides), (mask, (1,)), (target, (0,))]
                    backend.compile(packing(code, str(step))).launch(bind((length,), *walks))
                    np.testing.assert_array_equal(target[: len(chosen)], chosen)
                    np.testing.assert_array_equal(target[len(chosen) :], rest)


@pytest.mark.parametrize("code", [code for code in CODES if code != "b1"])
def test_packed_stores_of_what_is_computed_write_no_more(code: str, workers: int) -> None:
    """Computed values come in vectors of their own width, of complex numbers twice as many parts."""
    body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1), I(2, "add", (0, 0), code))
    accesses = (Access(code, ("1",)), Access("b1", ("1",)), Access(code, ("0",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 2, 1, packed=True),)),))
    for length in LENGTHS:
        for mask in masks(length):
            values = data(code, (length,))
            with np.errstate(all="ignore"):
                chosen = (values + values)[mask]
            for backend in BACKENDS[length > 5000 :]:
                target = data(code, (len(chosen) + 70,), 5)
                rest = target[len(chosen) :].copy()
                walks = [(values, values.strides), (mask, (1,)), (target, (0,))]
                backend.compile(kernel).launch(bind((length,), *walks))
                np.testing.assert_array_equal(target[: len(chosen)], chosen)
                np.testing.assert_array_equal(target[len(chosen) :], rest)


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("code", ["f4", "f8", "c8", "c16"])
def test_where_no_lane_is_true_nothing_is_written(
    code: str, vector_bytes: int, monkeypatch: Any, tmp_path: Path
) -> None:
    """What may raise is computed for all lanes, also where the host has no instruction that packs them."""
    narrower = engine.Engine(engine.narrow(engine.host(), vector_bytes), tmp_path)
    monkeypatch.setattr(engine, "engine", lambda: narrower)
    monkeypatch.setattr(engine, "host", lambda: narrower.host)
    body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1), I(2, "add", (0, 0), code))
    accesses = (Access(code, ("1",)), Access("b1", ("1",)), Access(code, ("0",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 2, 1, packed=True),)),))
    for length in (1, 5, 64, 130):
        values, mask, target = data(code, (length,)), np.zeros(length, bool), data(code, (70,), 5)
        untouched = target.copy()
        Backend().compile(kernel).launch(bind((length,), (values, values.strides), (mask, (1,)), (target, (0,))))
        np.testing.assert_array_equal(target, untouched)


@pytest.mark.parametrize("shape", [(3, 5), (100, 7), (4, 20000), (700, 90)])
def test_packed_stores_go_through_rows_in_order(shape: tuple[int, ...], workers: int) -> None:
    accesses = (Access("f8", ("s", "s")), Access("b1", ("s", "1")), Access("f8", ("0", "0")))
    body = (I(0, "load", (), "f8", 0), I(1, "load", (), "b1", 1))
    kernel = Kernel(("p", "p"), accesses, (), (Stage("full", body, stores=(Store(2, 0, 1, packed=True),)),))
    values, mask = data("f8", shape[::-1]).T, data("b1", shape)
    target = np.zeros(values[mask].shape)
    Backend().compile(kernel).launch(bind(shape, (values, values.strides), (mask, mask.strides), (target, (0, 0))))
    np.testing.assert_array_equal(target, values[mask])


def test_a_row_mask_packs_whole_rows(workers: int) -> None:
    accesses = (Access("f4", ("s", "1")), Access("b1", ("s", "0")), Access("f4", ("0", "0")))
    body = (I(0, "load", (), "f4", 0), I(1, "load", (), "b1", 1))
    kernel = Kernel(("p", "p"), accesses, (), (Stage("full", body, stores=(Store(2, 0, 1, packed=True),)),))
    values, mask = data("f4", (3000, 37)), data("b1", (3000,))
    target = np.zeros(values[mask].shape, np.float32)
    Backend().compile(kernel).launch(bind((3000, 37), (values, values.strides), (mask, (1, 0)), (target, (0, 0))))
    np.testing.assert_array_equal(target, values[mask])


@pytest.mark.parametrize("code", CODES)
def test_expand_spreads_packed_values_over_the_mask(code: str, workers: int) -> None:
    body = (I(0, "load", (), "b1", 0), I(1, "expand", (0,), code, 1))
    accesses = (Access("b1", ("1",)), Access(code, ("0",)), Access(code, ("1",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 1, 0),)),))
    for length in LENGTHS:
        for mask in masks(length):
            values = data(code, (int(mask.sum()),), 3)
            expected = data(code, (length,), 5)
            expected[mask] = values
            for backend in BACKENDS[length > 5000 :]:
                target = data(code, (length,), 5)
                walks = [(mask, (1,)), (values, (0,)), (target, (target.itemsize,))]
                backend.compile(kernel).launch(bind((length,), *walks))
                np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("wide", ["i2", "f4", "f8"])
@pytest.mark.parametrize("code", CODES)
def test_elements_beside_wider_ones(code: str, wide: str) -> None:
    """Vectors of few bytes: the lanes are those of the widest value."""
    body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1), I(2, "load", (), wide, 2))
    body += (I(3, "expand", (1,), code, 3), I(4, "negative", (2,), wide))
    codes = [(code, "1"), ("b1", "1"), (wide, "1"), (code, "0"), (code, "0"), (code, "1"), (wide, "1")]
    stores = (Store(4, 0, 1, packed=True), Store(5, 3, 1), Store(6, 4))
    accesses = tuple(Access(c, (s,)) for c, s in codes)
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=stores),))
    for length in LENGTHS:
        for mask in masks(length):
            values, other = data(code, (length,)), data(wide, (length,), 2)
            packed = data(code, (int(mask.sum()),), 3)
            first, second, third = np.zeros_like(packed), np.zeros_like(values), np.zeros_like(other)
            arrays = [values, mask, other, packed, first, second, third]
            steps = [(a.itemsize if s == "1" else 0,) for a, (_, s) in zip(arrays, codes, strict=True)]
            BACKENDS[1].compile(kernel).launch(bind((length,), *zip(arrays, steps, strict=True)))
            np.testing.assert_array_equal(first, values[mask])
            np.testing.assert_array_equal(second[mask], packed)
            np.testing.assert_array_equal(third, -other)


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("code", ["b1", "u2", "f2", "f4", "f8", "c16"])
def test_narrower_vectors_give_the_same(code: str, vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = backend_at(vector_bytes, monkeypatch)
    for length in LENGTHS[:-1]:
        for mask in masks(length):
            values = data(code, (length,))
            chosen = values[mask]
            target = data(code, (len(chosen) + 9,), 5)
            expected = np.concatenate([chosen, target[len(chosen) :]])
            walks = [(values, values.strides), (mask, (1,)), (target, (0,))]
            backend.compile(packing(code)).launch(bind((length,), *walks))
            np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("code", ["b1", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(9, 5), (40, 130), (60, 3000)])
def test_rows_at_offsets(code: str, shape: tuple[int, int], workers: int) -> None:
    """An offset that is the same along the last axis: gathers and scatters of whole rows, in tasks of columns."""
    size = np.dtype(dtype(code)).itemsize
    body = (I(0, "load", (), "i8", 0), I(1, "gather", (0,), code, 1))
    accesses = (Access("i8", ("s", "0")), Access(code, ("0", "1")), Access("i8", ("s", "0")), Access(code, ("0", "1")))
    body += (I(2, "load", (), "i8", 2),)
    kernel = Kernel(("p", "p"), accesses, (), (Stage("full", body, stores=(Store(3, 1, None, 2),)),))
    values = data(code, shape)
    take, put = np.random.default_rng(2).integers(0, shape[0], (2, shape[0]))
    expected = data(code, shape, 5)
    for a, b in zip(take, put, strict=True):
        expected[b] = values[a]
    width = shape[1] * size
    for backend in BACKENDS[shape[1] > 1000 :]:
        target = data(code, shape, 5)
        walks = [(take * width, (8, 0)), (values, (0, size)), (put * width, (8, 0)), (target, (0, size))]
        backend.compile(kernel).launch(bind(shape, *walks))
        np.testing.assert_array_equal(target, expected)


def dtype(code: str) -> str:
    return "bool" if code == "b1" else code
