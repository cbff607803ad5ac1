"""Owns first evaluations: an expression that NumPy is done with before LLVM would be runs in NumPy, one by one.

Compiling a kernel takes 5 to 30 ms, once; a program that evaluates an expression of some 100,000 elements a few times
never gets that back. So its first evaluations (all before number `config.compile_at`, and as many more as NumPy does in
what compiling takes) are interpreted where that is cheap, and it is compiled when it comes again. Only expressions to
which kernels give the same bits (contract C7).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.ir.expression import Entry, Expression, Signature
from lazyarray.ir.index_map import IndexMap, apply, is_identity, size_of
from lazyarray.ir.node import Node
from lazyarray.ir.ops import OPS, REDUCTIONS, dtype_of
from lazyarray.ir.sizes import Drawn, Structure, draw
from lazyarray.native.primitives import count  # cimport
from lazyarray.passes.views import is_whole_reshape
from lazyarray.runtime import prices
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.backend import current
from lazyarray.runtime.evaluate import INTERPRETED
from lazyarray.runtime.floating import wanted
from lazyarray.runtime.interpret import (
    RULES,
    Met,
    as_asked,
    call_as_recorded,
    compute_all,
    compute_map,
    last_uses,
    own,
    scatter_in,
    update_in,
)
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.resting import rest_for
from lazyarray.runtime.settling import settle, where

# The build reads such imports by the line.
# isort: split
from lazyarray.native.leases import stands_alone  # cimport

_LOADING: Final = 24_000_000  # nanoseconds that loading the compiler takes, once
_EVALUATION: Final = 50_000  # what interpreting takes beside NumPy
_HELD: Final = 16 << 20  # bytes of values that interpreting may hold: kernels hold none but the results
_AHEAD: Final = 64  # evaluations that NumPy may take without asking
_FROM_DISK: Final = 1_000_000  # what reading a plan and its kernels from disk costs

_EXTREMES: Final = frozenset(("min", "max", "fmin", "fmax"))
_ROUNDED: Final = frozenset("add subtract multiply divide negative".split())
_IN_PLACE: Final = _ROUNDED | frozenset(
    """
    minimum maximum fmin fmax absolute square sqrt reciprocal floor ceil trunc rint
    bitwise_and bitwise_or bitwise_xor invert logical_and logical_or logical_xor logical_not
    """.split()
)
_ELIDED: Final = 1 << 14  # elements from which an operand's memory is worth looking for


def _count_of_leaf(sources: list[Any], place: int) -> int:
    node = sources[place]
    return count(node)


def _count_of_data(args: list[Any]) -> int:
    data = args[0]
    return count(data)


# What counting shows of what only a list and a local name refer to: measured, since calls add other numbers in other
# versions of Python. `_ALONE`: without the list.
_UNNAMED: Final = _count_of_leaf([object()], 0)
_ALONE: Final = _count_of_data([np.empty(1)]) - 1
_SPARE: Final = _ALONE + 1
_interpreted: Final = INTERPRETED


class Unlike(Exception):
    """Kernels may give other bits of equal value."""


class Loading:
    """What NumPy may still take of all structures together before the compiler is loaded: None: not set yet."""

    spare: float | None = None


class Left:
    """What may still be interpreted of a structure, whatever the sizes: kernels serve all.

    A program that evaluates one structure at ever new sizes, as eliminations do, compiles it once.
    """

    __slots__ = ("most", "on_disk", "price", "spare", "tries")

    def __init__(self, drawn: Drawn, tries: int) -> None:
        self.tries = tries  # evaluations of which none takes longer than `most`
        # Who waits as long as compiling takes, and then compiles, waits twice as long as need be, at most.
        self.most = tries * prices.compiling(drawn.structure)
        self.spare: float = self.most  # what NumPy may still take
        self.price = 0.0  # of the evaluation that comes
        self.on_disk: bool | None = None  # None: not known yet
        if Loading.spare is None:
            Loading.spare = tries * _LOADING

    def has_room(self, drawn: Drawn) -> bool:
        """True where NumPy takes the evaluation that comes less than is left of the time that compiling takes."""
        if self.price > _FROM_DISK and self.is_on_disk(drawn):
            return False
        if self.tries > 0 and self.price < self.most:
            return True
        return self.price < max(self.spare, Loading.spare or 0.0) and not self.is_on_disk(drawn)

    def is_over(self) -> bool:
        """True if all that comes is compiled."""
        return self.most == 0

    def end(self, drawn: Drawn) -> None:
        """All that comes is compiled."""
        self.most = 0
        prices.note_compiled(drawn.structure)

    def pay(self) -> None:
        """The evaluation that `takes` was asked for has been interpreted."""
        self.tries -= 1
        self.spare -= self.price
        if Loading.spare is not None:
            Loading.spare -= self.price

    def ahead(self) -> int:
        """How many evaluations NumPy may take without asking, which are paid now.

        None of the first ones: it is not known yet whether kernels are on disk.
        """
        if self.is_over() or self.tries > 0 or self.on_disk is not False:
            return 0
        # What they cost is NumPy's time alone.
        price = max(self.price - _EVALUATION, 1.0)
        turns = int(min(max(self.spare, Loading.spare or 0.0, 0.0) / price, _AHEAD))
        self.spare -= turns * price
        if Loading.spare is not None:
            Loading.spare -= turns * price
        return turns

    def is_on_disk(self, drawn: Drawn) -> bool:
        """True where a process before this one has compiled the structure."""
        if self.on_disk is None:
            from lazyarray.runtime.planning import is_on_disk

            self.on_disk = is_on_disk(drawn.structure)
        return self.on_disk


class Try:
    """An expression without a plan, and what is the same in all evaluations of it."""

    __slots__ = ("drawn", "joined", "last", "left", "price", "suits", "unlike")

    def __init__(self, signature: Signature, tries: int) -> None:
        self.drawn = drawn = draw(signature)
        left = _left.get(drawn.structure)
        if left is None:
            if len(_left) >= _LIMIT:
                forget_tries()
            left = _left[drawn.structure] = Left(drawn, tries)
        self.left: Left = left
        self.price = 0.0  # not known yet, nor are the others
        self.suits = False
        self.unlike = False
        self.last: dict[int, int] = {}
        self.joined: frozenset[int] = frozenset()

    def takes(self) -> bool:
        """True if an evaluation is to be interpreted; else all that follow are compiled."""
        left = self.left
        if left.is_over():
            return False
        if not self.price:
            self.look()
        left.price = self.price
        if left.has_room(self.drawn) and self.suits:
            return True
        if not left.on_disk:
            Loading.spare = 0.0
        left.end(self.drawn)
        return False

    def look(self) -> None:
        """Finds out what it costs, and whether it suits: needs little memory in NumPy, which gives it kernels' bits."""
        expression = self.drawn.expression
        entries = expression.entries
        self.price = _EVALUATION + sum([prices.price(entry, entries) for entry in entries])
        self.suits = prices.held(expression) <= _HELD and all([has_equal_bits(entry, entries) for entry in entries])
        self.unlike = any([may_be_unlike(entry) for entry in entries])  # then nothing may have happened
        self.last = last_uses(expression)
        self.joined = joined(expression, self.last)


_left: dict[Structure, Left] = {}
_tried: dict[Signature, Try] = {}
_LIMIT: Final = 4096
_TRIED_LIMIT: Final = 1024


def tried(signature: Signature, tries: int) -> Try:
    """What is known of an expression without a plan."""
    found = _tried.get(signature)
    if found is None:
        if len(_tried) >= _TRIED_LIMIT:
            _tried.clear()
        found = Try(signature, tries)
        if not found.left.is_over():
            _tried[signature] = found
    return found


def forget_tries() -> None:
    """All expressions count as not evaluated yet."""
    _left.clear()
    _tried.clear()


def forget() -> None:
    """The same, and the compiler counts as not loaded."""
    forget_tries()
    Loading.spare = None
    prices.forget()


def has_equal_bits(entry: Entry, entries: tuple[Entry, ...]) -> bool:
    """True where the interpreter gives an entry the bits that kernels give it (see docs/reduction-order.md)."""
    if entry.kind == "reduce":
        name, _axes, has_where, _initial = entry.attr
        if not REDUCTIONS[name].ordered or entry.code[0] not in "fc":
            return True
        return not has_where and is_dense(entry.args[0], entries)
    if entry.kind == "update":
        _offset, shape, strides, _mask = entry.attr
        return all([step or extent < 2 for extent, step in zip(shape, strides, strict=True)])  # no place twice
    if entry.kind == "call":
        # A plan hands over what one view shows of memory; more views it may have copied.
        return all([entries[a].kind != "view" or entries[entries[a].args[0]].kind != "view" for a in entry.args])
    return True


def joined(expression: Expression, last: dict[int, int]) -> frozenset[int]:
    """The places of operations that compute where a write puts their result, which nobody else reads.

    Nothing is computed between the two. Correctly rounded operations, which have the same bits wherever they write.
    """
    entries = expression.entries
    found: list[int] = []
    computed = -1  # the last place that was
    for place in range(len(entries)):
        write = entries[place]
        if write.kind in ("leaf", "scalar"):
            continue
        only_here = write.kind == "update" and write.args[1] == computed and write.args.count(computed) == 1
        if only_here and last[computed] == place:
            entry = entries[computed]
            offset, shape, strides, has_mask = write.attr
            # What shows the memory that is written must have been read for the last time.
            read = all([entries[a].kind != "view" or last[a] == computed for a in entry.args])
            partly = not (has_mask or is_identity(IndexMap(offset, shape, strides), write.shape))
            alike = entry.shape == shape and entry.code == write.code and entry.code[0] in "fiu"
            if read and partly and alike and entry.kind == "map" and entry.attr[0] in _ROUNDED:
                found.append(computed)
        computed = place
    return frozenset(found)


def is_dense(position: int, entries: tuple[Entry, ...]) -> bool:
    """True for what lies in memory without gaps in C order, as plans and NumPy both sum it."""
    entry = entries[position]
    while entry.kind == "view":
        source = entries[entry.args[0]]
        if not is_whole_reshape(entry, source.shape):
            return False
        entry = source
    return True


def run(known: Try, sources: list[Any], outputs: list[Node], uses: dict[int, int]) -> list[tuple[Node, int]] | None:
    """Settles the outputs; returns which nodes raised what of which the user is to be told.

    `uses`: by id of a value written over, the references to it that end now. None, and nothing has happened, where
    kernels may give zeros of another sign: that is not tried again.
    """
    try:
        values, told = values_of(known, sources, uses)
    except Unlike:
        known.left.end(known.drawn)
        return None
    except BaseException as error:
        error.add_note(where(outputs))
        raise
    known.left.pay()
    ledger.run_first()
    entries, positions = known.drawn.expression
    for node, position in zip(outputs, positions, strict=True):
        if is_pending(node):
            settle(node, own(values[position], entries[position].shape))
    return told


_mets: Final[list[Met]] = []  # that of the last evaluation, if none is under way


def values_of(known: Try, sources: list[Any], uses: dict[int, int]) -> tuple[list[Any], list[tuple[Node, int]]]:
    """The entries' values, None for those that nothing needs any more, and what `run` returns."""
    told: list[tuple[Node, int]] = []
    expression, unlike = known.drawn.expression, known.unlike
    met = _mets.pop() if _mets and _mets[-1].is_for_now() else Met()
    entries = expression.entries

    def compute(entry: Entry, args: list[Any], source: Any) -> Any:
        met.bits = 0
        raising: Any = source
        if (
            entry.kind in _WRITES
            and type(source) is Node
            and not wanted(source)
            and is_free(entry, args, entries, sources, uses, unlike)
        ):
            value = written_over(entry, args, source, entries[entry.args[0]].kind == "leaf")
        else:
            value = value_of(entry, args, source)
        if entry.kind == "update" and type(args[1]) is tuple:
            raising = args[1][2]
        if met.bits and entry.kind != "call" and type(raising) is Node and wanted(raising):
            told.append((raising, met.bits))
        return value

    # Once for all entries: to enter a state takes longer than to add up a thousand numbers.
    with met:
        values = compute_all(expression, sources, compute, known.last, known.joined)
    _mets[:] = [met]
    return values, told


def is_free(
    entry: Entry, args: list[Any], entries: tuple[Entry, ...], sources: list[Any], uses: dict[int, int], unlike: bool
) -> bool:
    """True if nobody else can see the memory of what a write changes: it may be written over.

    `args` is all that still refers to values of this evaluation that nothing else needs.
    """
    data = args[0]
    if data.shape != entry.shape or not data.flags.c_contiguous or data.dtype != dtype_of(entry.code):
        return False
    held = 1
    if entries[entry.args[0]].kind == "leaf":
        if unlike or is_named(sources, entry.args[0], uses):
            return False
        if data is _interpreted.given:
            return True
        held = 2
    if type(args[1]) is tuple:
        held += _views_of(data, args[1][1])
    return count(data) <= _ALONE + held and stands_alone(data)


def _views_of(data: Any, args: list[Any]) -> int:
    """How many views of an array there are among arguments."""
    found: dict[int, None] = {}
    for arg in args:
        if arg.base is data:
            found[id(arg)] = None
    return len(found)


def is_named(sources: list[Any], place: int, uses: dict[int, int]) -> bool:
    """True if anything but this evaluation refers to a leaf."""
    node = sources[place]
    return count(node) > _UNNAMED + uses.get(id(node), 0)


def written_over(entry: Entry, args: list[Any], source: Any, settled: bool) -> Any:
    """The value of a write, in the memory of what it changes. `settled`: the node has it at once.

    Else what a signal handler evaluates, or who asks again after an error, would find neither the old nor the new one.
    """
    value = args[0]
    _WRITES[entry.kind](value, entry, args)
    if settled:
        settle(source, value)
    return value


def write_in(value: Any, entry: Entry, args: list[Any]) -> None:
    """What an update writes; an operation that was left to it is computed there."""
    if type(args[1]) is not tuple:
        update_in(value, entry, args)
        return
    operation, operands, _source = args[1]
    offset, shape, strides, _has_mask = entry.attr
    compute_map(operation, operands, apply(IndexMap(offset, shape, strides), value))


_WRITES: Final = {"update": write_in, "scatter": scatter_in}


def value_of(entry: Entry, args: list[Any], source: Any) -> Any:
    """The value of one entry."""
    if entry.kind == "update" and type(args[1]) is tuple:
        value = np.array(args[0], order="C", copy=True)
        write_in(value, entry, args)
        return value
    if entry.kind == "call":
        return library_call(entry, args, source)
    if entry.kind == "reduce" and entry.code[0] in "fc" and REDUCTIONS[entry.attr[0]].ordered:
        args = [np.asarray(args[0], order="C"), *args[1:]]  # kernels add in this order
    result = rule_of(entry)(entry, args)
    if may_be_unlike(entry) and not result.all():
        zeros = args[0] == 0
        if np.signbit(args[0])[zeros].any():
            raise Unlike  # among zeros of both signs NumPy takes any
    return result


def may_be_unlike(entry: Entry) -> bool:
    """True for extremes, which may be zeros of both signs."""
    return entry.kind == "reduce" and entry.attr[0] in _EXTREMES and entry.code[0] == "f"


def library_call(entry: Entry, args: list[Any], source: Any) -> Any:
    """What a library makes of evaluated arguments."""
    rest_for(*args)
    result = call_as_recorded(entry, args, source)
    ledger.library_call(entry.attr.name, sum([a.nbytes for a in args]), result.nbytes)
    return result


def rule_of(entry: Entry) -> Any:
    """What computes an entry: for transcendental functions the backend's own code, for all else NumPy's."""
    if entry.kind != "map" or entry.attr[0] not in OPS:
        return RULES[entry.kind]
    op = OPS[entry.attr[0]]
    if op.transcendental:
        return own_map
    return map_over if op.name in _IN_PLACE and entry.code[0] in "fiub" else RULES["map"]


def map_over(entry: Entry, args: list[Any]) -> Any:
    """A plain operation, in the memory of an operand that nothing else needs: as NumPy's operators do for temporaries.

    Fresh memory of 256 KiB and more comes page by page from the system.
    """
    codes = entry.attr[1]
    dtype = dtype_of(entry.code)
    if size_of(entry.shape) >= _ELIDED:
        for place in range(len(args)):
            if codes[place] == entry.code and _is_spare(args, place, entry.shape, dtype):
                return compute_map(entry, args, args[place])
    return compute_map(entry, args)


def _is_spare(args: list[Any], place: int, shape: tuple[int, ...], dtype: Any) -> bool:
    """True if only the list refers to an operand, which is memory of its own of this shape and dtype."""
    data = args[place]
    if data.dtype != dtype or data.shape != shape or not data.flags.c_contiguous or not data.flags.writeable:
        return False
    return count(data) <= _SPARE and stands_alone(data)


def own_map(entry: Entry, args: list[Any]) -> Any:
    """An elementwise operation by the ufunc that has the bits of kernels."""
    name, codes = entry.attr
    ufunc = current().eager_ufunc(name) if entry.code[0] in "fc" else None
    if ufunc is None:
        return RULES["map"](entry, args)
    return ufunc(*as_asked(args, codes))
