"""Random legal kernel records: every form of loops, steps, dtypes, several stages, against NumPy bit for bit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_llvm import threads
from lazyarray_llvm.backend import Backend

CODES = ["b1", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
FORMS = ["p", "pp", "ppp", "r", "pr", "rp", "prp", "prr", "rrp", "ppr", "rr"]
BACKEND = Backend()
FACTORS = {"s": 5, "0": 1, "1": 1, "-1": 1, "2": 2, "3": 3, "4": 4}


def dtype(code: str) -> np.dtype:
    return np.dtype("bool") if code == "b1" else np.dtype(code)


class Draw:
    """One random kernel with its arrays, and what NumPy says its stores must leave."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.roles = tuple(self.rng.choice(FORMS))
        self.last = len(self.roles) - 1
        self.axes = tuple(a for a, role in enumerate(self.roles) if role == "r")
        self.extents = [self.rng.choice([1, 2, 3, 5, 8, 17]) for _ in self.roles]
        lengths = [7, 8, 16, 31, 64, 65, 130, 257] if self.last else [1, 64, 1000, 9000, 70000]
        self.extents[-1] = self.rng.choice(lengths)
        self.accesses: list[Access] = []
        self.arrays: list[np.ndarray] = []
        self.values: dict[int, np.ndarray] = {}
        self.codes: dict[int, str] = {}
        self.expected: list[tuple[int, np.ndarray]] = []
        self.kernel = self._kernel()

    def _shape(self, level: str) -> list[int]:
        return [1 if level == "row" and r == "r" else n for r, n in zip(self.roles, self.extents, strict=True)]

    def _array(self, code: str, level: str, *, store: bool = False) -> int:
        """A new access with random steps and the array that it walks."""
        steps, shape = [], self._shape(level)
        for axis, role in enumerate(self.roles):
            if level == "row" and role == "r":
                steps.append("0")
            elif axis == self.last:
                steps.append(self.rng.choice(["1", "1", "s", "-1", "2", "3"] + ([] if store else ["0", "4"])))
            else:
                steps.append(self.rng.choice(["s", "s"] + ([] if store else ["0"])))
        base = self.numbers.integers(
            0, 2 if code == "b1" else 90, [n * FACTORS[s] for n, s in zip(shape, steps, strict=False)]
        )
        base = (base / 7).astype(code) if code[0] in "fc" else base.astype(dtype(code))
        view = base[tuple(slice(None, None, -1 if s == "-1" else FACTORS[s]) for s in steps)]
        moves = [0 if s == "0" else n for s, n in zip(steps, view.strides, strict=True)]
        self.accesses.append(Access(code, tuple(steps)))  # type: ignore[arg-type]
        self.arrays.append(np.lib.stride_tricks.as_strided(view, shape, moves))
        return len(self.arrays) - 1

    def _define(self, op: str, args: tuple[int, ...], code: str, value: Any, attr: int | None = None) -> Instruction:
        target = len(self.values) + len(self.expected) + 1000 * len(self.codes)
        self.values[target], self.codes[target] = value, code
        return Instruction(target, op, args, code, attr)

    def _body(self, level: str, seen: list[int]) -> list[Instruction]:
        """Loads, an index, and some operations on them and on what is visible already."""
        made = []
        for _ in range(self.rng.randrange(1, 4)):
            code = self.rng.choice(CODES)
            number = self._array(code, level)
            made.append(self._define("load", (), code, self.arrays[number], number))
        axis = self.rng.randrange(len(self.roles))
        if not (level == "row" and self.roles[axis] == "r"):
            places = np.arange(self.extents[axis]).reshape([-1 if a == axis else 1 for a in range(self.last + 1)])
            made.append(self._define("index", (), "i8", np.broadcast_to(places, self._shape(level)), axis))
        for _ in range(self.rng.randrange(1, 6)):
            step = self._operation([*seen, *(i.target for i in made)])
            if step is not None:
                made.append(step)
        return made

    def _operation(self, seen: list[int]) -> Instruction | None:
        a, b = self.rng.choice(seen), self.rng.choice(seen)
        code = self.codes[a]
        if self.codes[b] != code:
            b = a
        x, y = self.values[a], self.values[b]
        op = self.rng.choice(["add", "subtract", "cast", "where", "greater"])
        if op == "cast":
            to = self.rng.choice([c for c in CODES if code[0] not in "fc" or (c[0] in "fc" and c[0] >= code[0])])
            return self._define("cast", (a,), to, x.astype(dtype(to))) if code[0] != "c" or to[0] == "c" else None
        masks = [v for v in seen if self.codes[v] == "b1"]
        if op == "where" and masks:
            m = self.rng.choice(masks)
            return self._define("where", (m, a, b), code, np.where(self.values[m], x, y))
        if op == "greater" and code[0] != "c":
            return self._define("greater", (a, b), "b1", x > y)
        if code == "b1":
            return self._define("logical_or", (a, b), "b1", x | y)
        return self._define(*(("subtract", (a, b), code, x - y) if op == "subtract" else ("add", (a, b), code, x + y)))

    def _stores(self, level: str, seen: list[int]) -> tuple[Store, ...]:
        value = self.rng.choice(seen)
        access = self._array(self.codes[value], level, store=True)
        masks = [v for v in seen if self.codes[v] == "b1"]
        mask = self.rng.choice(masks) if masks and self.rng.random() < 0.4 else None
        left = np.broadcast_to(self.values[value], self._shape(level))
        if mask is not None:
            left = np.where(self.values[mask], left, self.arrays[access])
        self.expected.append((access, np.array(left)))
        return (Store(access, value, mask),)

    def _reduction(self, seen: list[int]) -> Reduction:
        """Order-free operations, and float sums where the last axis alone is reduced."""
        value = self.rng.choice(seen)
        code, full = self.codes[value], np.ascontiguousarray(np.broadcast_to(self.values[value], self.extents))
        names = {"any": np.logical_or}
        if code[0] != "c":
            names |= {"min": np.minimum, "max": np.maximum}
        if code[0] in "iu":
            names |= {"sum": np.add, "prod": np.multiply, "bxor": np.bitwise_xor}
        elif code[0] in "fc" and self.axes == (self.last,):
            names |= {"sum": np.add}
        op = self.rng.choice(sorted(names))
        result = "b1" if op == "any" else code
        found = names[op].reduce(full, axis=self.axes, keepdims=True, dtype=dtype(result))
        made = self._define(op, (), result, found)
        return Reduction(made.target, op, value, result)

    def _kernel(self) -> Kernel:
        stages: list[Stage] = []
        seen: list[int] = []
        kept: list[int] = []
        for _ in range(self.rng.randrange(1, 4) if self.axes else 1):
            recalls = [self._define("recall", (), self.codes[v], self.values[v], v) for v in kept]
            body = [*recalls, *self._body("full", [*seen, *(i.target for i in recalls)])]
            visible = [*seen, *(i.target for i in body)]
            reductions = [self._reduction(visible) for _ in range(self.rng.randrange(3))] if self.axes else []
            keep = (self.rng.choice(body).target,) if self.axes and self.rng.random() < 0.5 else ()
            stages.append(
                Stage("full", tuple(body), tuple(reductions), stores=self._stores("full", visible), kept=keep)
            )
            kept += [v for v in keep if v not in kept]
            seen += [r.target for r in reductions]
            if seen:
                row = self._body("row", seen)
                seen += [i.target for i in row]
                stages.append(Stage("row", tuple(row), stores=self._stores("row", seen)))
        return Kernel(self.roles, tuple(self.accesses), (), tuple(stages))  # type: ignore[arg-type]

    def binding(self) -> Binding:
        strides = tuple(
            tuple(0 if s == "0" else n for s, n in zip(a.steps, array.strides, strict=True))
            for a, array in zip(self.accesses, self.arrays, strict=True)
        )
        return Binding(tuple(self.extents), tuple(a.ctypes.data for a in self.arrays), strides, ())


@pytest.mark.parametrize("first", range(0, 160, 10))
def test_random_kernels_equal_numpy(first: int) -> None:
    before = threads.get_pool().nthreads
    for seed in range(first, first + 10):
        with np.errstate(all="ignore"):
            drawn = Draw(seed)
        threads.get_pool((1, 2, 3, 7)[seed % 4])
        BACKEND.compile(drawn.kernel).launch(drawn.binding())
        for access, expected in drawn.expected:
            got = drawn.arrays[access]
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, err_msg=f"seed {seed}")
    threads.get_pool(before)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_watched_kernels_store_the_same_and_tell_no_more_than_was_seen(first: int) -> None:
    for seed in range(first, first + 10):
        with np.errstate(all="ignore"):
            usual, watched = Draw(seed), Draw(seed)
        program = BACKEND.compile(usual.kernel)
        seen = program.launch(usual.binding())
        found = program.watch(watched.binding())
        for bits in found.values():
            assert bits & ~seen == 0, f"seed {seed}"
        for a, b in zip(usual.arrays, watched.arrays, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}")
