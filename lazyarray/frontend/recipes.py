"""Owns recipes: what a call recorded once, recorded again for operands of the same shapes, dtypes and constants.

Functions like `sum`, `std` or `where` look long at their arguments, and then record a few nodes which depend on nothing
but shapes, dtypes, views and constants. A recipe lists these nodes' keys, and where their arguments come from.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.lent import stand_in  # cimport
from lazyarray.frontend.loops import NUMBERS
from lazyarray.frontend.quick import Fields, known, limits, managed, operand_of, record_node, record_silent  # cimport
from lazyarray.frontend.rebase import Warnings
from lazyarray.frontend.record import copy_
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.ir.index_map import size_of
from lazyarray.ir.node import Key, Node, next_sequence, spec_of  # cimport
from lazyarray.native.primitives import holds_in_c_order, site_outside, size_of_memory  # cimport
from lazyarray.runtime.evaluate import SHARED

# The build reads such imports by the line.
# isort: split
from lazyarray.runtime.evaluate import evaluate  # cimport

# isort: split
from lazyarray.runtime.floating import error_state, is_joined, wanted
from lazyarray.runtime.settling import changes

ANY: Final = 1 << 30
# Functions without choices of their own by value, that return new arrays or scalars, and make arrays of one element of
# constants alone; with how many operands, from the first on, may be arrays. Of others (widths, weights, coordinates)
# NumPy's code may read values.
PURE: Final = {
    **dict.fromkeys(
        """
        sum prod min max amin amax any all ptp count_nonzero cumsum cumprod mean var std where clip
        block trapezoid
        """.split(),
        ANY,
    ),
    **dict.fromkeys(("outer", "append"), 2),
    **dict.fromkeys(
        """
        concatenate concat stack vstack hstack dstack column_stack pad gradient diff ediff1d trace argmax argmin round
        around roll
        average nansum nanprod linalg.norm linalg.vector_norm
        triu tril unwrap vander delete insert sinc angle fix isneginf isposinf nancumsum nancumprod
        """.split(),
        1,
    ),
}
# Those of them that look at no value of small arrays either, which may stand beside large ones.
MIXED: Final = frozenset("where clip concatenate concat stack vstack hstack dstack column_stack".split())
# Products of what lies on a device alone: of other operands NumPy may make one at once, by where their values are.
PRODUCTS: Final = frozenset({"matmul", "dot"})
# Whose recipes are looked for before it is asked whether NumPy makes the result now: a call that has one is recorded
# wherever its values are, by its subscripts and extents alone.
RECORDED_FIRST: Final = frozenset({"einsum"})
# Others whose results share no memory with what they are given, and that call nothing of the program's. These and
# `PURE` are recorded of large memory that others can write, too, as of an array's own, and evaluated at once. With how
# many arguments, from the first on, are only read: what comes later, without a name, may be an `out`.
LENT: Final = {
    **dict.fromkeys(PURE, 2),
    **dict.fromkeys(
        """
        take take_along_axis compress extract select nonzero argwhere flatnonzero bincount histogram isclose allclose
        array_equal array_equiv nan_to_num nanmean nanmax nanmin nanstd nanvar nanargmax nanargmin cross kron corrcoef
        cov tensordot polyval cumulative_sum cumulative_prod resize iscomplex isreal linalg.cross linalg.outer
        linalg.tensordot linalg.vecdot linalg.trace linalg.matrix_norm fft.fftshift fft.ifftshift
        """.split(),
        2,
    ),
    **dict.fromkeys(("fix", "isneginf", "isposinf"), 1),
    **dict.fromkeys(("where", "clip", "insert"), 3),
    "einsum": ANY,
}
# Methods that copy or convert all that an array shows; `LENT` too.
COPYING: Final = frozenset({"astype", "copy", "flatten"})
_NUMBERS: Final = NUMBERS
_COMPLEX: Final = (complex, np.complexfloating)
_NAMES: Final = frozenset({str, type(None), bool, type, *[type(np.dtype(code)) for code in "?bhilqBHILQefdFD"]})
_AGAIN: Final = object()  # an operand that came before
_SMALL: Final = object()  # one in small memory, whose values are copied when they are recorded
_NEVER: Final = object()  # what has been seen never, and once
_ONCE: Final = object()
LIMIT: Final = 4096  # calls that are kept of one function
_PARTS: Final = 32  # of a sequence
_SAFE: Final = 65504.0  # beyond it NumPy may warn where a constant meets float16


class Step:
    """One node: its key, and for each argument a place among the operands and earlier nodes, or -1 and a constant.

    Constants are numbers, and nodes of one element in memory. `silent`: no floating-point errors of the node are told,
    whatever the program says of them.
    """

    __slots__ = ("constants", "key", "places", "silent")

    def __init__(self, key: Key, places: tuple[int, ...], constants: tuple[Any, ...], silent: bool) -> None:
        self.key = key
        self.places = places
        self.constants = constants
        self.silent = silent


class Recipes:
    """What the calls of one function recorded, by what they were given; None for calls that have no recipe.

    A recipe is made when a call comes for the second time: of views that change from call to call none is.
    """

    __slots__ = ("function", "known", "lent", "mixed", "operands", "there")

    def __init__(
        self, function: Callable[..., Any], operands: int = ANY, there: bool = False, lent: int = 0, mixed: bool = False
    ) -> None:
        self.function = function  # serves the calls that have none
        # How many arguments, from the first on, may be arrays or hold some; 0: calls of numbers alone have recipes.
        self.operands = operands
        self.there = there  # only calls whose operands all lie on devices have one
        self.lent = lent  # as `LENT` says; 0: not at all
        self.mixed = mixed  # small arrays may stand beside large ones, as `MIXED` says
        self.known: dict[Any, Any] = {}
        _all.append(self)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns."""
        nodes: list[Any] = []
        token = token_of(args, kwargs, nodes, self.operands, self.mixed)
        if token is None or (self.there and not are_there(nodes)):
            nodes.clear()  # as below
            if self.lent:
                shown = Shown()
                others = shown.of_all(args, kwargs, site_outside(0), self.lent)
                if others is not None:
                    return at_once(shown, self.call(*others), self.function, args, kwargs)
            return self.function(*args, **kwargs)
        recipe = self.known.get(token, _NEVER)
        if recipe is _ONCE:
            return learn(self, token, nodes, args, kwargs)
        if recipe is not None and recipe is not _NEVER:
            return follow(recipe, nodes)
        if recipe is _NEVER:
            if len(self.known) >= LIMIT:
                self.known.clear()
            self.known[token] = _ONCE
        nodes.clear()  # who evaluates finds no more references to them than the program's
        return self.function(*args, **kwargs)


class Shown:
    """What shows memory that others can write in the places of a call's arguments (`lent.stand_in`)."""

    __slots__ = ("arrays", "others")

    def __init__(self) -> None:
        self.arrays: list[Any] = []  # given, and what shows the same
        self.others: list[Any] = []

    def of_all(self, args: tuple[Any, ...], kwargs: dict[str, Any], site: Any, read: int) -> Any:
        """The arguments with what shows them, of those without names the `read` first ones; None where none is."""
        passed: list[Any] = []
        for item in args:
            passed.append(self.of(item, site) if len(passed) < read else item)
        named = kwargs
        if kwargs:
            named = {}
            for name, item in kwargs.items():
                named[name] = item if name == "out" else self.of(item, site)
        return (tuple(passed), named) if self.others else None

    def of(self, item: Any, site: Any) -> Any:
        """What is in the place of an argument, or of a part of one."""
        kind = type(item)
        if kind is known.array:
            at = 0
            for array in self.arrays:
                if array is item:
                    return self.others[at]
                at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
            other = stand_in(item, site)
            if other is None:
                return item
            self.arrays.append(item)
            self.others.append(other)
            return other
        if (kind is not list and kind is not tuple) or len(item) > _PARTS:
            return item
        before = len(self.others)
        parts = [self.of(part, site) for part in item]
        if before == len(self.others):
            return item
        return parts if kind is list else tuple(parts)

    def is_new(self, result: Any, pending: list[Any]) -> bool:
        """Whether what a call returned is none of the memory itself; what it waits for is put into `pending`."""
        kind = type(result)
        if kind is LazyScalar:
            node: Node | None = result._node
        elif kind is known.array:
            node = _node_under(result)
        elif isinstance(result, tuple | list):
            return all([self.is_new(part, pending) for part in result])
        else:
            return True
        if node is None:
            return True
        for other in self.others:
            if node is _node_under(other):
                return False
        if node.data is None:
            pending.append(node)
        return True


def at_once(shown: Shown, result: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function returns of memory that others can write, evaluated before they do.

    `result`: what it returned of what is `shown`; `function`: what is asked instead where that is the memory itself.
    """
    pending: list[Any] = []
    if not shown.is_new(result, pending):
        return function(*args, **kwargs)  # which copies it
    if pending:
        evaluate(pending, SHARED, True, True)
    return result


class Lending:
    """A function of `LENT` that has no recipes."""

    __slots__ = ("function", "read")

    def __init__(self, function: Callable[..., Any], read: int) -> None:
        self.function = function
        self.read = read

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns."""
        shown = Shown()
        others = shown.of_all(args, kwargs, site_outside(0), self.read)
        if others is None:
            return self.function(*args, **kwargs)
        return at_once(shown, self.function(*others[0], **others[1]), self.function, args, kwargs)


def _node_under(array: Fields) -> Node | None:
    if array._np is not None:
        return None
    node: Node | None = array._node
    return array._base.node if node is None else node


_all: list[Recipes] = []


def _forget() -> None:
    for recipes in _all:
        recipes.known.clear()


config.followers.append(_forget)


def token_of(args: tuple[Any, ...], kwargs: dict[str, Any], nodes: list[Any], operands: int, mixed: bool) -> Any:
    """All that the nodes depend on; None where that is not known. The operands' nodes are put into `nodes`, and of
    `mixed` operands small arrays as they are.

    Arguments after so many `operands`, and those with names, are constants, unless any may be an array.
    """
    found: list[Any] = []
    arrays = 2 if mixed else 1
    at = 0
    for item in args:
        if not _describe(item, found, nodes, arrays if at < operands else 0):
            return None
        at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    for name, item in kwargs.items():
        found.append(name)
        if not _describe(item, found, nodes, arrays if operands == ANY else 0):
            return None
    if not operands:
        return tuple(found)
    for item in nodes:
        if type(item) is Node:
            return tuple(found)
    return None


def _describe(item: Any, found: list[Any], nodes: list[Any], arrays: int) -> bool:
    """`arrays`: 1 where an array may stand, 2 where that may be a small one."""
    kind = type(item)
    if kind is known.array:
        return arrays > 0 and _describe_array(item, found, nodes, arrays == 2)
    if kind in _NUMBERS and kind is not bool:
        # Equal keys are one key, whatever their types and the sign of a zero; NaN equals nothing.
        if item != item or isinstance(item, _COMPLEX):
            return False
        found.append(kind)
        found.append(item if item else str(item))
        return True
    if kind is tuple or kind is list:
        if len(item) > _PARTS:
            return False
        found.append(kind)
        found.append(len(item))
        for part in item:  # noqa: SIM110  (a generator costs more than what it checks)
            if not _describe(part, found, nodes, arrays):
                return False
        return True
    if kind not in _NAMES:
        return False
    found.append(kind)
    found.append(item)
    return True


def _describe_small(array: Fields, found: list[Any], nodes: list[Any]) -> bool:
    data = array._np
    size = size_of_memory(data)
    # Functions may take what is in an array of one element for a number.
    if not 1 < size < limits.eager or not holds_in_c_order(data):
        return False
    spec = spec_of(data.shape, data.dtype)
    if spec.leaf is None:
        return False  # perhaps of a dtype that is not compiled
    found.append(_SMALL)
    found.append(spec)
    nodes.append(array)
    return True


def _describe_array(array: Fields, found: list[Any], nodes: list[Any], mixed: bool) -> bool:
    if array._np is not None:
        return mixed and _describe_small(array, found, nodes)
    node: Node | None = array._node
    if node is None:
        if array._part is not None:
            return False
        node = array._base.node
        if node is None:
            return False
        view = array._map
        if view is not None:
            # Small regions of large arrays are NumPy's at once.
            if node.key.spec.size < limits.eager or size_of(view.shape) < limits.eager:
                return False
            found.append(view)
    if node.data is not None and node.key.spec.size < limits.eager:
        return False
    at = 0
    for other in nodes:
        if other is node:
            found.append(_AGAIN)
            found.append(at)
            return True
        at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    found.append(node.key.spec)
    nodes.append(node)
    return True


def are_there(nodes: list[Any]) -> bool:
    """True if the values of all nodes are on devices, and only there."""
    for item in nodes:
        if type(item) is not Node:
            return False
        node: Node = item
        if node.remote is None or node.data is not None:
            return False
    return True


def follow(recipe: tuple[tuple[Step, ...], bool], nodes: list[Any]) -> Any:
    """Records the nodes of a recipe; `nodes` holds the operands', or small arrays."""
    site = site_outside(1)
    steps, is_scalar = recipe
    at = 0
    for item in nodes:
        if type(item) is not Node:
            nodes[at] = operand_of(item, site)
        at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    for step in steps:
        args = []
        at = 0
        for place in step.places:
            args.append(nodes[place] if place >= 0 else step.constants[at])
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        if step.silent:
            nodes.append(record_silent(step.key, tuple(args), site))
        else:
            nodes.append(record_node(step.key, tuple(args), site))
    node = nodes[-1]
    return scalar_from_node(node) if is_scalar else managed(node)


def learn(recipes: Recipes, token: Any, nodes: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the function returns, of which a recipe is made."""
    # Recorded copies of small operands, by these. Who looks at values of theirs evaluates, and there is no recipe.
    small: dict[int, Any] = {}
    for place, item in enumerate(nodes):
        if type(item) is not Node:
            if id(item) not in small:
                operand: Any = operand_of(item, None)
                small[id(item)] = managed(copy_(operand))
            nodes[place] = small[id(item)]._node
    if small:
        args, kwargs = _exchanged(args, small), {name: _exchanged(item, small) for name, item in kwargs.items()}
    start = next_sequence()
    before = changes.count, Warnings.issued, error_state()
    result = recipes.function(*args, **kwargs)
    recipe = None
    if before == (changes.count, Warnings.issued, error_state()) and not any(
        [result is item for item in (*args, *kwargs.values())]
    ):
        recipe = _recipe_of(result, nodes, start, before[2], recipes.there, bool(small))
    recipes.known[token] = recipe
    return result


def _exchanged(item: Any, others: dict[int, Any]) -> Any:
    """An argument with other arrays in the places of those that `others` has by their identity."""
    if type(item) is list or type(item) is tuple:
        parts = [_exchanged(part, others) for part in item]
        return parts if type(item) is list else tuple(parts)
    return others.get(id(item), item)


def _recipe_of(
    result: Any, operands: list[Any], start: int, state: Any, calls: bool, small: bool
) -> tuple[tuple[Step, ...], bool] | None:
    """The recipe of a result whose nodes were recorded after number `start`, from the operands and constants; `calls`:
    library calls may be among them; `small`: small operands are, and what is in memory may have been made of them."""
    kind = type(result)
    if kind is not LazyScalar and (kind is not known.array or result._np is not None):
        return None
    places = {id(node): place for place, node in enumerate(operands)}
    last = _value_of(result)
    if last is None:
        return None
    made = _made_since(last, places, start)
    if made is None:
        return None
    steps = []
    dtypes = [node.key.spec.dtype for node in (*operands, *made)]
    narrow = any([dtype.itemsize < 8 and dtype.kind != "b" for dtype in dtypes])
    for node in made:
        made_by = node.key.kind
        if made_by == "leaf" and node.key.spec.size == 1 and not small:
            continue  # it has no place: a constant
        if node.data is not None or node.remote is not None or made_by == "leaf":
            return None
        if made_by == "call" and not calls:
            return None
        silent = bool(node.key.raises) and node.errors is not state
        if (silent and wanted(node)) or is_joined(node):
            return None
        numbers = [arg for arg in node.args if type(arg) is not Node]
        if narrow and any([isinstance(number, float | int) and not abs(number) <= _SAFE for number in numbers]):
            return None
        at = tuple([places.get(id(arg), -1) for arg in node.args])
        constants = tuple([arg if place < 0 else None for arg, place in zip(node.args, at, strict=True)])
        steps.append(Step(node.key, at, constants, silent))
        places[id(node)] = len(places)
    return (tuple(steps), kind is LazyScalar) if id(last) in places else None


def _value_of(result: Any) -> Node | None:
    """The node that is all of a new array's value, written since or not; None for views."""
    node: Node | None = result._node
    if node is None and result._part is None and result._map is None:
        node = result._base.node
    return node


def _sequence_of(node: Node) -> int:
    return node.sequence


def _made_since(last: Node, places: dict[int, int], start: int) -> list[Node] | None:
    """The nodes that the last one needs besides those with places, oldest first; None if one is older than `start`."""
    found: dict[int, Node] = {}
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if id(node) in places or id(node) in found:
            continue
        if node.sequence <= start:
            return None
        found[id(node)] = node
        waiting.extend([arg for arg in node.args if type(arg) is Node])
    return sorted(found.values(), key=_sequence_of)
