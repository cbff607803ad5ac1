"""Owns products: matmul, dot, vdot, inner and einsum as recorded library calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from lazyarray.frontend import products
from lazyarray.frontend.array import assign, from_node, ndarray, scalar_from_node, value, wrap
from lazyarray.frontend.contractions import Sum, run_einsum, sum_of
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.exchange import adopt
from lazyarray.frontend.reading import Reading, lent, product_operand_as_it_lies
from lazyarray.frontend.rebase import rebase
from lazyarray.frontend.record import WEAK, broadcast_shape, call_, dummy, map_
from lazyarray.frontend.reductions import NO_VALUE, operand, reduce
from lazyarray.frontend.regions import at_hand, short_product
from lazyarray.frontend.views import view_by
from lazyarray.ir.contractions import labels_of
from lazyarray.ir.node import Library, Node, Shape
from lazyarray.runtime.remote import stays_home  # cimport
from lazyarray.runtime.resting import rest_for

DType = np.dtype[Any]

DOT: Final = Library("dot", np.dot, into=True)
MATMUL: Final = Library("matmul", np.matmul, into=True)
INNER: Final = Library("inner", np.inner)
VDOT: Final = Library("vdot", np.vdot)


def _common(x: ndarray, y: ndarray) -> DType:
    found = np.result_type(x.dtype, y.dtype)
    return np.dtype(found.str)


def _record(library: Library, x: ndarray, y: ndarray, shape: Shape) -> Any:
    short = short_product(x, y)
    if short is not None:
        rest_for(*short)
        return adopt(library.function(*short))
    reading = Reading()
    operands = tuple([reading.kept(product_operand_as_it_lies(a)) or value(a) for a in (x, y)])
    node = call_(library, operands, shape, _common(x, y))
    if library is MATMUL:
        products.keep(node, operands)
    return _result(reading.made(node))


def _result(node: Node) -> Any:
    """What a library call gives."""
    return from_node(node) if node.shape else scalar_from_node(node)


def _refuse(function: Callable[..., Any], a: Any, b: Any) -> None:
    """NumPy's error for operands that do not fit; they are checked before any product is made."""
    function(*[o if type(o) in WEAK else dummy(operand(o).shape, operand(o).dtype) for o in (a, b)])
    raise Uncompiled


def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = operand(a), operand(b)
    if out is not None:
        raise Uncompiled
    if x.ndim == 0 or y.ndim == 0:
        if np.result_type(x.dtype, y.dtype).char in "fdFD":
            # BLAS leaves out what is multiplied by zero: dot(nan, 0) is 0.
            return _record(DOT, x, y, x.shape or y.shape)
        node = map_("multiply", (value(x), value(y)))
        return from_node(node) if node.shape else scalar_from_node(node)
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        _refuse(np.dot, x, y)
    shape = x.shape[:-1] + (y.shape[:-2] + y.shape[-1:] if y.ndim > 1 else ())
    return _record(DOT, x, y, shape)


def inner(a: Any, b: Any, /) -> Any:
    x, y = operand(a), operand(b)
    if x.ndim == 0 or y.ndim == 0:
        return dot(x, y)
    if x.shape[-1] != y.shape[-1]:
        _refuse(np.inner, x, y)
    return _record(INNER, x, y, x.shape[:-1] + y.shape[:-1])


def vdot(a: Any, b: Any, /) -> Any:
    x, y = operand(a), operand(b)
    if x.size != y.size:
        _refuse(np.vdot, x, y)
    return _record(VDOT, x, y, ())


def matmul_shape(left: Shape, right: Shape) -> Shape | None:
    """The shape of a matrix product; None where NumPy refuses."""
    if not left or not right:
        return None
    rows = left[:-1] if len(left) == 1 else left[-2:-1]
    columns = () if len(right) == 1 else right[-1:]
    if left[-1] != (right[0] if len(right) == 1 else right[-2]):
        return None
    stack = broadcast_shape([left[:-2], right[:-2]])
    return None if stack is None else (*stack, *(rows if len(left) > 1 else ()), *columns)


def matmul(a: Any, b: Any, /, out: Any = None, **options: Any) -> Any:
    x, y = operand(a), operand(b)
    dtype = options.pop("dtype", None)
    options.pop("subok", None)
    if options or dtype is not None:
        raise Uncompiled
    shape = matmul_shape(x.shape, y.shape)
    if shape is None:
        _refuse(np.matmul, a, b)
        raise Uncompiled
    result = _record(MATMUL, x, y, shape)
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    if (
        type(target) is not ndarray
        or target.shape != shape
        or not np.can_cast(_common(x, y), target.dtype, "same_kind")
    ):
        raise Uncompiled
    assign(target, result if shape else from_node(result._node))
    return target


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """NumPy's own code; a norm that is a product of all of an array with itself at once, where the value is there."""
    if axis is None and type(x) is ndarray:
        data = at_hand(x)
        if data is not None and (ord is None or (ord == 2 and data.ndim == 1) or (ord == "fro" and data.ndim == 2)):
            rest_for(data)
            return adopt(np.linalg.norm(data, ord, None, keepdims))
    return wrap(rebase(np.linalg.norm)(x, ord, axis, keepdims))


# ---- einsum


def _labels(subscripts: str, arrays: list[ndarray]) -> tuple[list[str], str]:
    """Labels per operand and of the result; simple forms only."""
    found = labels_of(subscripts)
    if found is None:
        raise Uncompiled
    terms, output = found
    if len(terms) != len(arrays) or any(len(t) != x.ndim for t, x in zip(terms, arrays, strict=True)):
        raise Uncompiled
    if len({*output}) != len(output) or not {*output} <= {*"".join(terms)}:
        raise Uncompiled
    return terms, output


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    if out is not None or options or not operands or type(operands[0]) is not str:
        raise Uncompiled
    if type(optimize) not in (bool, str):
        raise Uncompiled
    arrays = [operand(a) for a in operands[1:]]
    added = sum_here(operands[0], arrays) if optimize is False and arrays else None
    if added is not None and all([lent(x) is None for x in arrays]):
        return _sum_of_products(added, arrays)
    terms, output = _labels(operands[0], arrays)
    extents: dict[str, int] = {}
    for term, x in zip(terms, arrays, strict=True):
        for label, extent in zip(term, x.shape, strict=True):
            known = extents.setdefault(label, extent)
            if known != extent:
                if known != 1 and extent != 1:
                    raise Uncompiled
                extents[label] = max(known, extent)
    if len(arrays) == 1 and set(terms[0]) == set(output):
        x = arrays[0]
        if x._np is not None:
            raise Uncompiled
        return view_by(x, _einsum_view, operands[0])
    dtype = np.result_type(*[x.dtype for x in arrays])
    shape = tuple(extents[label] for label in output)
    library = Library("einsum", run_einsum, (("subscripts", operands[0]), ("optimize", optimize)), into=True)
    reading = Reading()
    nodes = tuple([reading.node_of(x) for x in arrays])
    return _result(reading.made(call_(library, nodes, shape, np.dtype(dtype.str))))


def sum_here(subscripts: str, arrays: Sequence[ndarray]) -> Sum | None:
    """How an `einsum` is recorded as the sum of products that it is: on the host, of large arrays."""
    return sum_of(subscripts, arrays) if stays_home() else None


def _sum_of_products(added: Sum, arrays: Sequence[ndarray]) -> Any:
    """einsum(x, y, ...) = sum(x * y * ... + 0.0): with operands' axes beside those of the one that has all labels."""
    product: Any = None
    with np.errstate(all="ignore"):  # as NumPy's einsum, which tells nothing
        for (turned, placed), x in zip(added.operands, arrays, strict=True):
            lying: Any = x if turned is None else x.transpose(turned)
            if placed is not None:
                lying = lying[placed]
            product = lying if product is None else product * lying
        if added.summed:
            product = reduce("sum", product, added.summed, product.dtype)
        if product.dtype.kind in "fc":
            product = product + 0.0  # NumPy adds to 0.0: -0.0 is no sum
    return product if added.order is None else product.transpose(added.order)


def _einsum_view(stand_in: Any, subscripts: str) -> Any:
    return np.einsum(subscripts, stand_in)


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    from lazyarray.frontend.namespace import resolve

    x = operand(a)
    diagonal = resolve("diagonal")(x, offset, axis1, axis2)
    return reduce("sum", diagonal, -1, dtype, out, False, NO_VALUE, True)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "dot": dot,
    "inner": inner,
    "vdot": vdot,
    "einsum": einsum,
    "trace": trace,
}
METHODS: Final[dict[str, Callable[..., Any]]] = {"dot": dot, "trace": trace}
