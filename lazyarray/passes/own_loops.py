"""Owns the rewriting of transcendental operations to NumPy's own inner loops (numerics="numpy")."""

from __future__ import annotations

from collections.abc import Callable

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import c_strides
from lazyarray.ir.node import Library
from lazyarray.ir.numpy_loops import Layout, Steps, steps_of
from lazyarray.ir.ops import OPS, dtype_of, own_loop_name

InKernels = Callable[[str, "tuple[str, ...]"], bool]


def use_numpy_loops(expression: Expression, in_kernels: InKernels) -> Expression:
    """Every entry stays where it is: transcendental ones become ops of NumPy's loops, or calls of its ufuncs.

    `in_kernels(op, codes)`: whether kernels can run the loop for these arguments and this result. Runs before all
    passes, since the bits of some loops depend on how the operands lie in memory as the program wrote them.
    """
    entries = list(expression.entries)
    for position, entry in enumerate(entries):
        if entry.kind != "map" or entry.attr[0] not in OPS or not OPS[entry.attr[0]].transcendental:
            continue
        name, codes = entry.attr
        if codes[0][0] not in "fc":
            continue  # integer powers have the same bits everywhere
        if in_kernels(name, (*codes, entry.code)):
            steps = loop_steps(entry, [expression.entries[a] for a in entry.args])
            entries[position] = entry._replace(attr=(own_loop_name(name, steps), codes))
        else:
            entries[position] = entry._replace(kind="call", attr=ufunc_call(name, codes, entry.code))
    return expression._replace(entries=tuple(entries))


def loop_steps(entry: Entry, args: list[Entry]) -> Steps:
    """How NumPy's loop walks the operands and the result of a map."""
    _, codes = entry.attr
    letters = [_plain_step(entry, arg, code) for arg, code in zip(args, codes, strict=True)]
    if "" not in letters:
        return "".join(letters) + "x"
    return steps_of([_layout(arg) for arg in args], (*codes, entry.code))


def _plain_step(entry: Entry, arg: Entry, code: str) -> Steps:
    """The letter of an operand that is one number, or that lies as the result does; empty for others."""
    if not arg.shape:
        return "0"
    return "x" if arg.kind != "view" and arg.shape == entry.shape and arg.code == code else ""


def _layout(arg: Entry) -> Layout:
    strides = arg.attr[1] if arg.kind == "view" else c_strides(arg.shape)
    size = dtype_of(arg.code).itemsize
    return Layout(arg.shape, tuple(size * stride for stride in strides), arg.code)


def ufunc_call(name: str, codes: tuple[str, ...], code: str) -> Library:
    """A call of NumPy's ufunc, in the loop that was recorded."""
    ufunc = OPS[name].ufunc
    assert ufunc is not None
    loop = tuple(dtype_of(c) for c in (*codes, code))
    return Library(name, ufunc, (("signature", loop), ("casting", "unsafe")), into=True)
