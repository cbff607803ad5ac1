"""Compiles the kernels of `cases.py` to cubins, in a process without the interpreter's patches. Prints a report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from lazyarray.ir import ops as table
from lazyarray.ir.ops import dtype_of, loop_dtypes
from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_triton import launch, model
from lazyarray_triton.compiler import Binary, compile_job
from lazyarray_triton.emit import emit, forms, normalise
from lazyarray_triton.jobs import job_of
from lazyarray_triton.source import TritonSource
from tests.triton import cases

# What may not be computed approximately. (libdevice has its own uses of div.approx, and mends their results.)
INEXACT = ("div.full", "sqrt.approx.f32", "sqrt.approx.ftz.f32")


def launches(kernel: Kernel, extents: tuple[int, ...], form: str = "") -> Iterator[tuple[TritonSource, launch.Variant]]:
    """The variants that a launch of aligned arrays needs, in the form of the model or another one."""
    chosen = model.guess(kernel, extents)
    if form and form != chosen.form:
        chosen = cases.small_blocks(kernel, extents, form)  # type: ignore[arg-type]
    source = emit(kernel, chosen.form)
    plan = launch.plan_launches(source, extents, chosen)
    accesses = normalise(kernel).accesses
    strides = tuple((4096,) * len(a.steps) for a in accesses)
    binding = Binding(extents, (4096,) * len(accesses), strides, (1,) * len(kernel.scalars))
    origins = {k: (0, 1 << 20) for k in range(len(accesses))}
    for step in plan.steps:
        values = launch.arguments(plan, step, binding, [4096] * len(source.works), origins)
        yield source, launch.variant(step, launch.choose_index(plan, binding), values)


def compiled(kernel: Kernel, extents: tuple[int, ...], capability: int, form: str = "") -> Iterator[tuple[str, Binary]]:
    for source, made in launches(kernel, extents, form):
        yield made.function, compile_job(job_of(source, made, capability))


def jobs(share: str) -> Iterator[tuple[str, Kernel, tuple[int, ...], str]]:
    """Name, kernel, extents, form."""
    if share == "table":
        for ins, names in TABLE.items():
            yield f"{names} of {' '.join(ins)}", table_kernel(ins, names), (256,), ""
        return
    if share == "usual":
        yield "activation f4", cases.activation("f4"), (20 << 20,), ""
        yield "activation f8", cases.activation("f8"), (20 << 20,), ""
        yield "softmax rows", cases.softmax("f4", "pr", keep=True), (8192, 8192), ""
        yield "softmax long rows", cases.softmax("f4", "pr", keep=True), (8192, 65536), "loop"
        yield "layer norm", cases.layer_norm("f4"), (8192, 8192), ""
        yield "column sum", cases.reduction("sum", "f4", "rp"), (8192, 8192), ""
        yield "sum of all", cases.reduction("sum", "f4", "r"), (100_000_000,), ""
        yield "argmax rows", cases.reduction("argmax", "f4", "pr"), (1000, 1000), ""
        yield "cumsum", cases.scan("sum", "f4", "pr"), (4, 1_000_000), ""
        yield "statistics", cases.statistics(), (100_000_001,), ""
        yield "pack", cases.pack("f4"), (1 << 20,), ""
        yield "put", cases.put("f4", masked=True), (1 << 20,), ""
        return
    for code in ("b1", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16"):
        yield f"take {code}", cases.take(code), (100,), ""
        yield f"expand {code}", cases.expand(code), (100,), ""
    for roles, extents in (("pr", (20, 100)), ("rp", (100, 20)), ("prp", (2, 30, 40)), ("rr", (10, 20))):
        for op, code in (
            ("max", "f2"),
            ("argmin", "f8"),
            ("sum", "c8"),
            ("prod", "c16"),
            ("all", "i1"),
            ("bxor", "u2"),
        ):
            if op == "argmin" and roles == "rr":
                continue
            kernel = cases.reduction(op, code, roles, where=op == "sum", start=op == "sum")
            form = forms(kernel)[len(roles + op) % 4]
            yield f"{op} {code} {roles} {form}", kernel, extents, form
    for roles, extents in (("pr", (20, 100)), ("rp", (100, 20))):
        for form in ("tile", "loop", "split"):
            yield (
                f"in-place softmax {roles} {form}",
                cases.softmax("f8", roles, keep=True, in_place=True),
                extents,
                form,
            )
        for form in ("loop", "split"):
            yield f"scan {roles} {form}", cases.scan("prod", "c8", roles), extents, form
            yield f"scan {roles} {form}", cases.scan("sum", "f2", roles), extents, form
            yield f"running extremes {roles} {form}", cases.scan("max", "f8", roles), extents, form
            yield f"running extremes {roles} {form}", cases.scan("min", "u1", roles), extents, form
    yield "several", cases.several("pr"), (20, 100), "split"
    yield "several", cases.several("pr"), (20, 100), "joined"
    yield "softmax", cases.softmax("f4", "rp", keep=True), (100, 20), "joined"
    yield "rank 4", cases.mixed_elementwise(4), (3, 4, 5, 600), ""


# Ops that are compiled together, by the dtypes of their arguments: those that are short, and some of the long ones.
TABLE = {
    ("b1", "b1"): "add multiply maximum equal less logical_xor bitwise_and",
    ("i1", "i1"): "floor_divide remainder power left_shift right_shift gcd maximum",
    ("u8", "u8"): "floor_divide fmod power left_shift right_shift lcm minimum",
    ("i8", "u8"): "equal less greater_equal",
    ("i4",): "negative absolute sign reciprocal bitwise_count invert square isfinite logical_not",
    ("f2",): "negative absolute sign sqrt spacing exp isnan rint frexp_exponent",
    ("f2", "f2"): "add divide floor_divide maximum nextafter",
    ("f4",): "exp log sin tan sinh tanh cbrt sqrt reciprocal rint spacing modf_fraction frexp_mantissa signbit degrees",
    ("f4", "f4"): "divide floor_divide remainder fmod power arctan2 hypot logaddexp maximum fmin copysign nextafter",
    ("f8",): "exp log1p cos arcsin sqrt reciprocal trunc spacing frexp_exponent isinf",
    ("f8", "f8"): "divide floor_divide remainder power minimum fmax heaviside",
    ("f8", "i4"): "ldexp",
    ("c8",): "square reciprocal absolute exp sqrt sign isnan",
    ("c16", "c16"): "add multiply divide maximum less equal",
}


def table_kernel(ins: tuple[str, ...], names: str) -> Kernel:
    """All ops of a line of `TABLE` in one kernel."""
    ops = names.split()
    outs = [table.code(loop_dtypes(op, [dtype_of(c) for c in ins])[-1]) for op in ops]
    body = [Instruction(k, "load", (), c, k) for k, c in enumerate(ins)]
    body += [
        Instruction(10 + k, op, tuple(range(len(ins))), c) for k, (op, c) in enumerate(zip(ops, outs, strict=True))
    ]
    stores = tuple(Store(len(ins) + k, 10 + k) for k in range(len(ops)))
    accesses = tuple(Access(c, ("1",)) for c in (*ins, *outs))
    return Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=stores),))


def main(share: str, capabilities: list[int]) -> None:
    report = []
    for number, (name, kernel, extents, form) in enumerate(jobs(share)):
        # Each of the many kernels is compiled for one target, in turn.
        for capability in capabilities if share == "usual" else [capabilities[number % len(capabilities)]]:
            begin = time.perf_counter()
            for function, binary in compiled(kernel, extents, capability, form):
                loads = sorted({w for w in binary.ptx.split() if w.startswith(("ld.global", "st.global"))})
                row = {"name": name, "function": function, "capability": capability, "memory": loads}
                row |= {"bytes": len(binary.cubin), "shared": binary.shared, "threads": binary.threads}
                row |= {"extremes": binary.ptx.count("min.NaN.f32") + binary.ptx.count("max.NaN.f32")}
                row |= {"fma": binary.ptx.count("fma.rn.f32"), "inexact": [w for w in INEXACT if w in binary.ptx]}
                report.append(row | {"ms": round(1000 * (time.perf_counter() - begin))})
                begin = time.perf_counter()
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], [int(c) for c in sys.argv[2].split(",")])
