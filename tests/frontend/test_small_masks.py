"""Reads and writes of small arrays by masks are NumPy's: values bit by bit, strides, warnings, errors, what is left."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray, to_numpy

CODES = ("?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "F", "D", "g", "M8[s]", "S3", ">f8", "O")
EXTENTS = (0, 1, 7, 8, 9, 63, 64, 65, 100, 128, 200, 1000, 4100)
MASKS: dict[str, Callable[[int], Any]] = {
    "none": lambda n: numpy.zeros(n, "?"),
    "all": lambda n: numpy.ones(n, "?"),
    "the last": lambda n: numpy.arange(n) == n - 1,
    "few": lambda n: numpy.random.default_rng(n).random(n) < 0.05,
    "half": lambda n: numpy.random.default_rng(n).random(n) < 0.5,
    "most": lambda n: numpy.random.default_rng(n).random(n) < 0.95,
    "runs": lambda n: numpy.arange(n) // 37 % 2 == 0,
    "blocks": lambda n: numpy.arange(n) // 64 % 2 == 0,
    "other bytes": lambda n: (numpy.arange(n) * 37 % 5).astype("u1").view("?"),
}
# How elements lie in memory of three times as many.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "one by one": lambda x: x[: len(x) // 3],
    "every third": lambda x: x[::3],
    "backwards": lambda x: x[len(x) // 3 - 1 :: -1] if len(x) else x,
    "rows": lambda x: x[: len(x) // 3 // 4 * 4].reshape(-1, 4),
    "columns": lambda x: x[: len(x) // 3 // 4 * 4].reshape(4, -1).T,
    "inner": lambda x: x[: len(x) // 8 * 8].reshape(-1, 8)[:, 2:6],
    "planes": lambda x: x[: len(x) // 3 // 8 * 8].reshape(2, -1, 4)[::-1],
}


def _values(code: str, n: int) -> Any:
    bits = numpy.random.default_rng(3).integers(-100, 100, n)
    if code == "?":
        return bits > 0
    values = bits.astype(code)
    if numpy.dtype(code).kind in "fc" and n > 2:
        values[::3], values[1::3] = -0.0, numpy.nan
    return values


def _alike(found: Any, expected: Any) -> None:
    found = to_numpy(found) if type(found) is ndarray else found
    assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
    if expected.dtype.hasobject:
        assert found.tolist() == expected.tolist()
    elif expected.dtype.char == "g":  # has bytes that mean nothing
        assert found.astype("d").tobytes() == expected.astype("d").tobytes()
    else:
        assert found.tobytes() == expected.tobytes()


def _both(write: Callable[[Any, Any, Any], Any], memory: Any, layout: str, mask: Any, value: Any) -> tuple[Any, Any]:
    """What comes of a write, and all memory around it, or the error and the warnings: with NumPy and with ours."""
    outcomes = []
    for module in (numpy, lazyarray):
        own = module.array(memory)
        given = value if not isinstance(value, numpy.ndarray) else module.array(value)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                write(LAYOUTS[layout](own), module.array(mask), given)
                said: Any = None
            except Exception as error:
                said = (type(error), str(error))
        own = to_numpy(own) if module is lazyarray else own
        outcomes.append((own, said, [(one.category, str(one.message)) for one in told]))
    return outcomes[0], outcomes[1]


def _put(x: Any, mask: Any, value: Any) -> None:
    x[mask] = value


def _take(x: Any, mask: Any) -> Any:
    return x[mask]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("code", CODES)
def test_a_mask_reads_what_numpy_reads(code: str, layout: str) -> None:
    for n in EXTENTS:
        x = LAYOUTS[layout](_values(code, 3 * n))
        ours = LAYOUTS[layout](lazyarray.array(_values(code, 3 * n)))
        for make in MASKS.values():
            for arranged in (make(x.size).reshape(x.shape), make(x.size).reshape(x.shape[::-1]).T):
                expected = x[arranged]
                _alike(ours[lazyarray.array(arranged)], expected)
                _alike(ours[arranged], expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("code", CODES)
def test_a_mask_writes_what_numpy_writes_and_nothing_else(code: str, layout: str) -> None:
    for n in EXTENTS:
        memory = _values(code, 3 * n)
        extents = LAYOUTS[layout](memory).shape
        size = LAYOUTS[layout](memory).size
        for make in MASKS.values():
            mask = make(size).reshape(extents)
            count = len(memory[:size].reshape(extents)[mask])
            values: list[Any] = [_values(code, count + 5)[:count], _values(code, 2 * count + 5)[5:][:count]]
            if numpy.dtype(code).kind not in "MS":
                values.append(1)
            for value in values:
                expected, found = _both(_put, memory, layout, mask, value)
                assert found[1:] == expected[1:] == (None, [])
                _alike(found[0], expected[0])


NUMBERS = (
    0, 1, -1, 127, 128, 255, 256, 300, -129, 2**31, 2**40, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.1, 1e40, 1e300, -1e-46,
    float("nan"), float("inf"), True, False, 1j, 1 + 0j, complex(-0.0, -0.0), None, "3", "x", b"4",
    numpy.float64(0.3), numpy.float32(0.3), numpy.int8(-3), numpy.uint64(2**63), numpy.bool(True), numpy.complex64(2j),
    numpy.array(5.0), numpy.array([7]), numpy.array([7.5]), [3], [3, 4], (), numpy.arange(3), numpy.zeros((1, 3)),
)  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_a_mask_takes_the_numbers_that_numpy_takes(code: str) -> None:
    memory = _values(code, 30)
    mask = numpy.arange(10) % 3 == 1
    for value in NUMBERS:
        expected, found = _both(_put, memory, "one by one", mask, value)
        assert found[1:] == expected[1:], value
        _alike(found[0], expected[0])


def test_masks_of_other_extents_are_numpys_errors() -> None:
    for extents in ((3,), (5,), (4, 1), (4, 3, 1), (4, 2), (1, 3), ()):
        for make in (numpy.zeros, numpy.ones):
            mask = make(extents, "?")
            memory = numpy.arange(36.0)
            x, ours = LAYOUTS["rows"](memory), LAYOUTS["rows"](lazyarray.array(memory))
            wanted, found = _outcome(_take, x, mask), _outcome(_take, ours, lazyarray.array(mask))
            if isinstance(wanted, numpy.ndarray):
                _alike(found, wanted)
            else:
                assert found == wanted
            before, after = _both(_put, memory, "rows", mask, 2.5)
            assert before[1:] == after[1:]
            _alike(after[0], before[0])


@pytest.mark.parametrize("code", ["b", "d", "D", "g"])
def test_a_mask_of_the_first_axes_reads_rows(code: str) -> None:
    x = _values(code, 7 * 9 * 3).reshape(7, 9, 3)
    for array in (x, x[::-1], x[:, ::2], x.transpose(1, 0, 2), x[..., :2], x[..., :0], x[..., 1:2]):
        ours = lazyarray.array(x)
        mine = {
            (7, 9, 3): lambda a: a, (7, 5, 3): lambda a: a[:, ::2], (9, 7, 3): lambda a: a.transpose(1, 0, 2),
            (7, 9, 2): lambda a: a[..., :2], (7, 9, 0): lambda a: a[..., :0], (7, 9, 1): lambda a: a[..., 1:2],
        }[array.shape]  # fmt: skip
        if array.strides[0] < 0:
            mine = lambda a: a[::-1]  # noqa: E731
        for rank in (1, 2):
            mask = numpy.random.default_rng(rank).random(array.shape[:rank]) < 0.6
            _alike(mine(ours)[lazyarray.array(mask)], array[mask])


def test_memory_that_a_write_reads_is_read_before_it_is_written() -> None:
    for module in (numpy, lazyarray):
        b = module.arange(40) % 3 == 0
        b[b] = False
        assert not b.any()
        b = module.arange(40) % 3 == 0
        b[b[::-1]] = True
        x = module.arange(40.0)
        x[module.arange(40) % 2 == 0] = x[:20]
        y = module.arange(40.0)
        y[y > 10] = y[11:][::-1]
        outcome = [b.tolist(), x.tolist(), y.tolist()]
        if module is numpy:
            expected = outcome
    assert outcome == expected


def test_what_is_read_only_stays_as_it_is() -> None:
    x = lazyarray.arange(10.0)
    x.flags.writeable = False
    for value in (1.0, lazyarray.ones(3), numpy.ones(3)):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            x[lazyarray.arange(10) < 3] = value
    assert x.tolist() == list(range(10))


def test_what_a_mask_has_read_is_an_array_of_its_own() -> None:
    x = lazyarray.arange(10.0)
    found = x[x > 4]
    x[x > 4] = 0.0
    assert found.tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
    assert found.base is None
    assert found.flags.owndata
    found[:] = -1.0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] + [0.0] * 5


def test_a_number_of_pythons_at_the_left_of_a_complex_operator_is_numpys() -> None:
    for code in "?bBhild" + "fFDe":
        x = _values(code, 40)
        ours = lazyarray.array(x)
        for number in (1j, -0.0 - 1j, complex("nan"), complex("inf")):
            with numpy.errstate(all="ignore"), lazyarray.errstate(all="ignore"):
                for run in (
                    lambda a, z: z * a, lambda a, z: z + a, lambda a, z: z - a, lambda a, z: z / (a + 1),
                    lambda a, z: z == a, lambda a, z: z**a, lambda a, z: z * a * a + z,
                ):  # fmt: skip
                    wanted, found = _outcome(run, x, number), _outcome(run, ours, number)
                    if isinstance(wanted, numpy.ndarray):
                        numpy.testing.assert_array_equal(to_numpy(found), wanted, strict=True)
                    else:
                        assert found == wanted


def _outcome(run: Callable[[Any, Any], Any], array: Any, given: Any) -> Any:
    try:
        return run(array, given)
    except (TypeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("extents", "strides"),
    [((4, 16), (8, 0)), ((16,), (0,)), ((10, 10), (8, 8)), ((20, 20), (0, 8)), ((6, 5, 4), (16, 8, 40))],
)
def test_of_values_for_one_place_numpys_stays(extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
    said = []
    for module in (numpy, lazyarray):
        whole = module.zeros(200)
        x = module.lib.stride_tricks.as_strided(whole, extents, strides)
        mask = numpy.arange(x.size).reshape(extents) % 5 != 3
        x[module.array(mask)] = module.arange(float(mask.sum()))
        said.append(whole.tolist())
    assert said[0] == said[1]
