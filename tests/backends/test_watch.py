"""Compiled kernels report NumPy's floating-point errors: none missing after a launch, exactly those when asked."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from lazyarray.ir.ops import COMPILED, OPS, code, dtype_of
from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW, raises
from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Role, Scan, Stage, Step, Store
from lazyarray_llvm import engine, threads
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.elementwise import supported
from lazyarray_llvm.lower.emit import emit
from lazyarray_llvm.program import Program

I = Instruction  # noqa: E741
BACKEND = Backend()
LENGTH = 37  # whole vectors and a rest, on every host
ALL = DIVIDE | OVERFLOW | INVALID
UFUNCS = {"sum": np.add, "prod": np.multiply}
FORMS: list[tuple[tuple[Role, ...], tuple[int, ...]]] = [
    (("r",), (13,)),
    (("r",), (9001,)),
    (("r",), (300_007,)),
    (("p", "r"), (3, 200)),
    (("p", "r"), (2, 40_000)),
    (("r", "p"), (50, 7)),
    (("r", "p"), (9, 301)),
    (("p", "r", "p"), (2, 9, 70)),
    (("r", "r"), (5, 130)),
]


@pytest.fixture(scope="module", autouse=True)
def pool_size() -> Iterator[None]:
    before = threads.get_pool().nthreads
    yield
    threads.get_pool(before)


def numpy_errors(function: Callable[..., Any], *args: Any, **options: Any) -> int:
    """What NumPy reports of a call."""
    found = 0

    def note(_: str, status: int) -> None:
        nonlocal found
        found |= status

    with np.errstate(all="call", call=note):
        function(*args, **options)
    return found & ALL


def elementwise(op: str, codes: Sequence[str], out: str) -> Kernel:
    count = len(codes)
    body = [I(k, "load", (), c, k) for k, c in enumerate(codes)]
    body.append(I(count, op, tuple(range(count)), out))
    accesses = tuple(Access(c, ("1",)) for c in (*codes, out))
    return Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(count, count),)),))


KEPT: list[Sequence[np.ndarray]] = []  # bindings hold addresses only


@pytest.fixture(autouse=True)
def bound_arrays() -> Iterator[None]:
    yield
    KEPT.clear()


def bind(kernel: Kernel, arrays: Sequence[np.ndarray], extents: Sequence[int]) -> Binding:
    KEPT.append(arrays)
    strides = tuple(
        tuple(0 if step == "0" else n for step, n in zip(access.steps, array.strides, strict=True))
        for access, array in zip(kernel.accesses, arrays, strict=True)
    )
    return Binding(tuple(extents), tuple(a.ctypes.data for a in arrays), strides, ())


def program_of(kernel: Kernel) -> Program:
    """The program as if it had seen no false alarm."""
    program = BACKEND.compile(kernel)
    program.alarms = 0
    return program


# -- elementwise -------------------------------------------------------------------------------------------
def specials(dtype_code: str) -> np.ndarray:
    """Numbers of a dtype at which something is raised, or nearly."""
    dtype = dtype_of(dtype_code)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        whole = np.iinfo(dtype)
        more = [-1, whole.min, whole.min + 1] if dtype.kind == "i" else []
        return np.array([0, 1, 3, whole.max, *more], dtype)
    info = np.finfo(dtype)
    tiny, large = info.smallest_subnormal, info.max
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, large, tiny, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    numbers = [0.0, tiny, info.smallest_normal, 0.5, 1.0, 1.5, 2.0, 3.0, 1e4, large / 2, large, np.inf]
    return np.array([*numbers, *(-n for n in numbers), np.nan], dtype)


def raising_loops() -> list[Any]:
    found = {}
    for op in OPS.values():
        for signature in op.ufunc.types if op.ufunc is not None else ():
            ins, outs = signature.split("->")
            if any(c in "gGOmM" for c in ins + outs):
                continue
            codes, out = tuple(code(np.dtype(c)) for c in ins), code(np.dtype(outs[op.output]))
            if supported(op.name, codes[0]) and raises(op.name, codes, out):
                found[f"{op.name}-{'-'.join(codes)}"] = (op.name, codes, out)
    return [pytest.param(*loop, id=name) for name, loop in found.items()]


def is_excepted(op: str, values: Sequence[Any]) -> bool:
    """What depends on the C library or the vector library that NumPy was built with: powers of infinite exponents."""
    if op not in ("power", "float_power"):
        return False
    exponent = complex(values[1])
    return not np.isfinite(exponent.real) or not np.isfinite(exponent.imag)


def check(program: Program, arrays: Sequence[np.ndarray], want: int, target: int, what: Any) -> None:
    out = arrays[-1]
    binding = bind(program.kernel, arrays, out.shape)
    seen = program.launch(binding)
    stored = out.copy()
    exactly = program.watch(binding).get(target, 0)
    np.testing.assert_array_equal(out, stored)
    assert exactly == want, (what, want, exactly)
    assert want & ~seen == 0, (what, want, seen)


@pytest.mark.parametrize(("op", "codes", "out"), raising_loops())
def test_watch_gives_numpys_errors_of_every_operation(op: str, codes: tuple[str, ...], out: str) -> None:
    program, function = program_of(elementwise(op, codes, out)), OPS[op].ufunc
    assert function is not None
    grids = [specials(c) for c in codes]
    if len(codes) == 2 and codes[0][0] == "c":
        grids = [grids[0][::2], grids[1][::5]]
    for values in itertools.product(*grids):
        if is_excepted(op, values):
            continue
        KEPT.clear()
        arrays = [np.full(LENGTH, v) for v in values]
        want = numpy_errors(function, *arrays)
        assert want & ~raises(op, codes, out) == 0
        program.alarms = 0
        check(program, [*arrays, np.empty(LENGTH, dtype_of(out))], want, len(codes), (op, values))


CHAINED = ("add", "subtract", "multiply", "divide", "square", "sqrt", "maximum", "negative", "reciprocal", "exp")


@pytest.mark.parametrize("dtype_code", ["f2", "f4", "f8"])
@pytest.mark.parametrize("seed", range(30))
def test_watch_gives_numpys_errors_of_each_operation_of_a_chain(seed: int, dtype_code: str) -> None:
    rng = np.random.default_rng(seed)
    loads = [rng.choice(specials(dtype_code), LENGTH) for _ in range(3)]
    body = [I(k, "load", (), dtype_code, k) for k in range(3)]
    values, want = list(loads), {}
    for target in range(3, 11):
        op = str(rng.choice(CHAINED))
        args = tuple(int(a) for a in rng.integers(max(0, target - 4), target, OPS[op].nin))
        function, operands = OPS[op].ufunc, [values[a] for a in args]
        assert function is not None
        errors = numpy_errors(function, *operands) & raises(op, (dtype_code,) * len(args), dtype_code)
        if errors:
            want[target] = errors
        with np.errstate(all="ignore"):
            values.append(function(*operands))
        body.append(I(target, op, args, dtype_code))
    accesses = (Access(dtype_code, ("1",)),) * 4
    kernel = Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(3, 10),)),))
    arrays = [*loads, np.empty(LENGTH, dtype_of(dtype_code))]
    assert program_of(kernel).watch(bind(kernel, arrays, (LENGTH,))) == want


def test_a_chain_is_looked_at_where_it_ends() -> None:
    body = [I(k, "load", (), "f8", k) for k in range(3)]
    body += [I(3, "multiply", (0, 1), "f8"), I(4, "subtract", (3, 2), "f8"), I(5, "divide", (4, 1), "f8")]
    kernel = Kernel(("p",), (Access("f8", ("1",)),) * 4, (), (Stage("full", tuple(body), stores=(Store(3, 5),)),))
    program = program_of(kernel)
    source = emit(program.kernel, engine.host(), "whole watched")
    before_the_look = source[: source.index("br i1", source.index("fcmp"))]
    assert before_the_look.count("fcmp") == 1


@pytest.mark.parametrize("source", sorted(COMPILED))
def test_watch_gives_numpys_errors_of_casts(source: str) -> None:
    limits = [127, 128, -129, 255, 256, 32768, 65519, 65520, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 1e300]
    with np.errstate(all="ignore"):
        extra = np.array(limits).astype(dtype_of(source)) if source[0] in "fc" else np.array([], dtype_of(source))
    for target in sorted(COMPILED - {source}):
        program = program_of(elementwise("cast", (source,), target))
        for value in (*specials(source), *extra):
            array = np.full(LENGTH, value)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                want = numpy_errors(array.astype, dtype_of(target))
            program.alarms = 0
            check(program, [array, np.empty(LENGTH, dtype_of(target))], want, 1, (source, target, value))


@pytest.mark.parametrize("dtype_code", ["f2", "f4", "f8"])
def test_ordinary_numbers_and_nans_in_comparisons_raise_no_alarm(dtype_code: str) -> None:
    draw = np.random.default_rng(0)
    usual = draw.uniform(0.1, 0.9, 500).astype(dtype_code)
    for op in OPS.values():
        if op.ufunc is None or not supported(op.name, dtype_code) or op.name == "arccosh":
            continue
        wanted = (usual.dtype,) * op.nin
        try:
            resolved = op.ufunc.resolve_dtypes((*wanted, *(None,) * op.ufunc.nout))
        except TypeError:
            continue
        if resolved[: op.nin] != wanted:
            continue
        out = code(resolved[op.nin + op.output])
        arrays = [usual, usual[::-1].copy()][: op.nin]
        kernel = elementwise(op.name, (dtype_code,) * op.nin, out)
        assert program_of(kernel).launch(bind(kernel, [*arrays, np.empty(500, dtype_of(out))], (500,))) == 0, op.name
    missing = usual.copy()
    missing[::3] = np.nan
    for name in ("maximum", "fmin", "less", "greater_equal", "sign", "sin", "log", "add", "sqrt", "floor", "isfinite"):
        op = OPS[name]
        assert op.ufunc is not None
        out = code(op.ufunc(*[missing] * op.nin).dtype)
        body = [I(0, "load", (), dtype_code, 0), I(1, name, (0,) * op.nin, out), I(2, "add", (0, 0), dtype_code)]
        accesses = tuple(Access(c, ("1",)) for c in (dtype_code, out, dtype_code))
        stores = (Store(1, 1), Store(2, 2))
        kernel = Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=stores),))
        arrays = [missing, np.empty(500, dtype_of(out)), np.empty_like(missing)]
        assert program_of(kernel).launch(bind(kernel, arrays, (500,))) == 0, name


def test_false_alarms_cost_one_run_from_the_second_launch_on() -> None:
    kernel = elementwise("exp", ("f8",), "f8")
    program = program_of(kernel)
    x = np.full(1000, np.nan)
    binding = bind(kernel, [x, np.empty(1000)], (1000,))
    assert program.launch(binding) == INVALID
    assert program.watch(binding) == {}
    assert program.launch(binding) == 0
    x[:] = 1e4
    assert program.launch(binding) == OVERFLOW


def test_constants_that_llvm_folds_are_told() -> None:
    body = (I(0, "const", (), "f8", 1), I(1, "const", (), "f8", 0), I(2, "divide", (0, 1), "f8"))
    kernel = Kernel(("p",), (Access("f8", ("1",)),), (), (Stage("full", body, stores=(Store(0, 2),)),))
    binding = bind(kernel, [np.empty(50)], (50,))
    assert program_of(kernel).launch(binding) == DIVIDE
    assert program_of(kernel).watch(binding) == {2: DIVIDE}


@pytest.mark.parametrize("place", [0, 777_777, 999_999])
def test_every_worker_tells(place: int) -> None:
    threads.get_pool(3)
    body = (I(0, "load", (), "f8", 0), I(1, "add", (0, 0), "f8"), I(2, "sqrt", (1,), "f8"))
    accesses = (Access("f8", ("1",)), Access("f8", ("1",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(1, 2),)),))
    x = np.ones(1_000_000)
    binding = bind(kernel, [x, np.empty_like(x)], x.shape)
    assert program_of(kernel).launch(binding) == 0
    assert program_of(kernel).watch(binding) == {}
    x[place] = -1.0
    assert program_of(kernel).launch(binding) == INVALID
    assert program_of(kernel).watch(binding) == {2: INVALID}
    x[place] = 1e308
    assert program_of(kernel).watch(binding) == {1: OVERFLOW}
    x[place] = 1.0
    assert program_of(kernel).launch(binding) == 0


# -- reductions and scans ----------------------------------------------------------------------------------
def reducing(op: str, dtype_code: str, roles: tuple[Role, ...], mode: str) -> Kernel:
    last = len(roles) - 1
    steps: tuple[Step, ...] = tuple("1" if k == last else "s" for k in range(len(roles)))
    kept: tuple[Step, ...] = tuple("0" if r == "r" else s for r, s in zip(roles, steps, strict=True))
    body = (I(0, "load", (), dtype_code, 0),)
    if mode == "scan":
        accesses = (Access(dtype_code, steps), Access(dtype_code, steps))
        stage = Stage("full", body, scan=Scan(1, op, 0, dtype_code), stores=(Store(1, 1),))
        return Kernel(roles, accesses, (), (stage,))
    accesses = (Access(dtype_code, steps), Access(dtype_code, kept))
    if mode == "where":
        accesses = (*accesses, Access("b1", steps))
        body = (*body, I(5, "load", (), "b1", 2))
    reduction = Reduction(1, op, 0, dtype_code, 5 if mode == "where" else None)
    return Kernel(roles, accesses, (), (Stage("full", body, (reduction,)), Stage("row", (), stores=(Store(1, 1),))))


def troubles(dtype_code: str, shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    dtype = dtype_of(dtype_code)
    large = np.finfo(dtype).max * 0.9
    base = np.random.default_rng(1).uniform(0.9, 1.1, shape).astype(dtype)
    yield "none", base
    cases = ([large, large], [np.inf, -np.inf], [np.nan], [np.nan, np.inf, -np.inf], [np.inf, 0.0])
    for numbers, place in itertools.product(cases, ("head", "far", "tail")):
        array = base.copy()
        flat, size = array.reshape(-1), base.size
        for k, number in enumerate(numbers):
            flat[{"head": k, "far": (k * (size // 2) + 1) % size, "tail": size - 1 - k}[place]] = number
        yield f"{numbers} at the {place}", array


@pytest.mark.parametrize("dtype_code", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("roles", "extents"), FORMS)
def test_watch_gives_numpys_errors_of_reductions(
    roles: tuple[Role, ...], extents: tuple[int, ...], dtype_code: str
) -> None:
    axes = tuple(k for k, role in enumerate(roles) if role == "r")
    kept = tuple(1 if role == "r" else n for role, n in zip(roles, extents, strict=True))
    mask = np.random.default_rng(2).random(extents) < 0.7
    long = extents[-1] > 9001
    for op, mode in itertools.product(UFUNCS, ("plain", "where", "scan")):
        if (long and (op, mode) != ("sum", "plain")) or (mode == "scan" and len(roles) > 1 and roles != ("r", "p")):
            continue
        kernel = reducing(op, dtype_code, roles, mode)
        program = program_of(kernel)
        for name, array in troubles(dtype_code, extents):
            program.alarms = 0
            out = np.empty(extents if mode == "scan" else kept, dtype_of(dtype_code))
            if mode == "scan":
                want = numpy_errors(UFUNCS[op].accumulate, array, axis=axes[0])
            else:
                options = {"where": mask} if mode == "where" else {}
                want = numpy_errors(UFUNCS[op].reduce, array, axis=axes, keepdims=True, **options)
            arrays = [array, out, mask] if mode == "where" else [array, out]
            binding = bind(kernel, arrays, extents)
            seen = program.launch(binding)
            stored = out.copy()
            assert program.watch(binding).get(1, 0) == want, (op, mode, name)
            assert want & ~seen == 0, (op, mode, name)
            np.testing.assert_array_equal(out, stored)


# -- selections --------------------------------------------------------------------------------------------
def packing(body: Sequence[Instruction], value: int, mask: int) -> Kernel:
    accesses = (Access("f8", ("1",)), Access("b1", ("1",)), Access("f8", ("0",)))
    return Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(2, value, mask, packed=True),)),))


def test_what_numpy_computed_of_all_elements_is_told_though_few_are_selected() -> None:
    loads = (I(0, "load", (), "f8", 0), I(1, "load", (), "b1", 1))
    kernel = packing((*loads, I(2, "sqrt", (0,), "f8")), 2, 1)
    x, mask = np.ones(1000), np.zeros(1000, bool)
    mask[3], x[500] = True, -1.0
    binding = bind(kernel, [x, mask, np.empty(1000)], (1000,))
    assert program_of(kernel).launch(binding) == INVALID
    assert program_of(kernel).watch(binding) == {2: INVALID}


def test_what_is_sheltered_by_the_mask_raises_nothing() -> None:
    loads = (I(0, "load", (), "f8", 0), I(1, "load", (), "b1", 1), I(2, "const", (), "f8", 1))
    kernel = packing((*loads, I(3, "where", (1, 0, 2), "f8"), I(4, "log", (3,), "f8")), 4, 1)
    x, mask = np.zeros(1000), np.zeros(1000, bool)
    mask[::50], x[::50] = True, 2.0
    binding = bind(kernel, [x, mask, np.empty(1000)], (1000,))
    assert program_of(kernel).launch(binding) == 0
    assert program_of(kernel).watch(binding) == {}


def test_lanes_that_an_expansion_leaves_open_do_not_count() -> None:
    accesses = (Access("f8", ("0",)), Access("b1", ("1",)), Access("f8", ("1",)))
    body = (I(0, "load", (), "b1", 1), I(1, "expand", (0,), "f8", 0), I(2, "log", (1,), "f8"))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 2, 0),)),))
    packed, mask = np.full(100, 2.0), np.arange(1000) % 10 == 0
    arrays = [np.broadcast_to(packed, (1000, 100))[:, 0], mask, np.ones(1000)]
    binding = bind(kernel, arrays, (1000,))
    assert program_of(kernel).watch(binding) == {}
    packed[7] = 0.0
    assert program_of(kernel).watch(binding) == {2: DIVIDE}


def test_scatters_tell_of_every_element() -> None:
    accesses = (Access("f8", ("1",)), Access("i8", ("1",)), Access("f8", ("0",)))
    body = (I(0, "load", (), "f8", 0), I(1, "load", (), "i8", 1), I(2, "multiply", (0, 0), "f8"))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 2, offset=1),)),))
    x, places, out = np.ones(100), np.arange(100)[::-1].copy() * 8, np.zeros(100)
    x[99] = 1e200
    binding = bind(kernel, [x, places, out], (100,))
    assert program_of(kernel).watch(binding) == {2: OVERFLOW}
    np.testing.assert_array_equal(out[::-1], np.where(x > 1, np.inf, 1.0))
