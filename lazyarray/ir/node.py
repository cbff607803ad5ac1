"""Owns the nodes of the expression DAG: what recording makes and evaluation consumes.

A node is immutable but for one event: evaluation gives it `data` (on a device `remote`) and drops its `args`.  Its
`key` says everything about it but its arguments, and is shared by all nodes alike, so that recording is two dictionary
look-ups and a plan is found by comparing keys.  Every node's value is an array in C order: Fortran order and strided
memory exist only as index maps over one (see `ir/index_map.py`).

Kinds, with their arguments and `attr`:

    leaf     ()                         data is there from the beginning
    empty    ()                         memory with no values yet
    iota     ()                         attr axis; the index along that axis, int64
    fill     (scalar)                   one scalar everywhere
    map      (a, b, ...)                attr (op name, loop input codes); elementwise, arguments broadcast
    view     (a)                        attr (offset, strides) in elements over a's C-order memory
    roll     (a)                        attr shifts, one per axis, 0 <= shift < extent; element i is a's i - shift
    reduce   (a, [where], [initial])    attr (op, axes, has_where, has_initial); the axes vanish from the shape
    scan     (a)                        attr (op, axis); running sum, prod, max or min
    update   (old, new, [mask])         attr (offset, shape, strides, has_mask); old with a region replaced
    gather   (a, i0, i1, ...)           attr (axes, position); advanced index read, see `frontend/indexing.py`
    scatter  (old, new, i0, i1, ...)    attr (axes, position, op); old with indexed elements set or added to, in order
    compress (mask, a)                  attr shape; a's elements in C order where mask, both broadcast to that shape
    expand   (mask, values)             values in C order where mask, one after another; elsewhere any values
    call     (a, b, ...)                attr Library record; a library call on evaluated arguments

An argument is a node or a Python/NumPy number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any, Final, TypeAlias
from weakref import ref

import numpy as np

from lazyarray.config import config
from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW, raises, reduction_raises
from lazyarray.records import NamedTuple

Number: TypeAlias = Any  # a Python or NumPy number
Arg: TypeAlias = "Node | Number"
Shape: TypeAlias = tuple[int, ...]


class Spec:
    """A shape and a dtype; one object for each pair, so that identity compares."""

    __slots__ = ("code", "dtype", "leaf", "nbytes", "ndim", "shape", "size")

    def __init__(self, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.code = dtype.kind + str(dtype.itemsize)
        size = 1
        for extent in shape:
            size *= extent
        self.size = size
        self.nbytes: int = size * dtype.itemsize
        self.ndim = len(shape)
        self.leaf: Key | None = None  # see `leaf_key`

    def __repr__(self) -> str:
        return f"{self.code}{list(self.shape)}"


_SPECS: dict[Any, Spec] = {}
_SPECS_LIMIT: Final = 65536


def spec_of(shape: Shape, dtype: np.dtype[Any]) -> Spec:
    """The one `Spec` of this shape and dtype."""
    found: Spec | None = _SPECS.get((shape, dtype))
    if found is None:
        found = Spec(shape, dtype)
        if len(_SPECS) < _SPECS_LIMIT:
            _SPECS[shape, dtype] = found
    elif found.dtype is not dtype and found.dtype.char != dtype.char:
        # C's `long` and `long long` are equal, and scalars of them are not.
        found = _SPECS.get((shape, dtype, dtype.char))
        if found is None:
            found = _SPECS[shape, dtype, dtype.char] = Spec(shape, dtype)
    return found


def _raises(kind: str, attr: Any, code: str) -> int:
    """The floating-point errors that a node can raise, as NumPy's bits."""
    if kind == "map":
        return raises(attr[0], attr[1], code)
    if kind in ("reduce", "scan"):
        return reduction_raises(attr[0], code)
    return DIVIDE | OVERFLOW | INVALID if kind == "call" else 0


class Key:
    """Kind, attributes and spec of a node: all but its arguments. Compared by identity while recording."""

    __slots__ = ("attr", "cost", "entry", "kind", "raises", "reads_all", "spec", "writes")

    def __init__(self, kind: str, attr: Hashable, spec: Spec) -> None:
        self.kind = kind
        self.attr = attr
        self.spec = spec
        self.entry = (kind, attr, spec.shape, spec.code)
        self.raises = _raises(kind, attr, spec.code)
        self.reads_all = kind == "reduce"
        self.writes = kind in ("update", "scatter")
        self.cost = -2  # see `runtime/liveness.py`

    def __repr__(self) -> str:
        return f"{self.kind}({self.attr}) {self.spec}"


class Library(NamedTuple):
    """A library call: `function(*arrays, **dict(options))` with NumPy's meaning, returning one array.

    `name` is what reports show.  `into`: the function takes `out=` and can write the result's buffer directly.
    """

    name: str
    function: Callable[..., Any]
    options: tuple[tuple[str, Hashable], ...] = ()
    into: bool = False


# The code object and instruction that recorded a node, and the globals there (where its warnings are registered).
Site: TypeAlias = tuple[CodeType, int, dict[str, Any]]

_sequence = 0


def next_sequence() -> int:
    """The number of the next node to be made. Nothing is called in between: no other thread runs."""
    global _sequence
    _sequence += 1
    return _sequence


# A program records nodes about as fast as others go. In C memory is kept of as many:
# freelist 256
class Node:
    """One operation: `key`, `args`, and after evaluation `data` (C-contiguous, of the key's shape and dtype)."""

    __slots__ = (
        "__weakref__", "args", "cost", "data", "errors", "key", "made", "mark", "place", "remote", "sequence", "site",
        "uses", "visits",
    )  # fmt: skip

    def __init__(self, key: Key, args: tuple[Arg, ...], site: Site | None = None) -> None:
        self.key = key
        self.args = args
        self.data: np.ndarray[Any, Any] | None = None
        self.remote: Any = None  # the value on a device (`runtime/device.py`), also besides `data`
        self.errors: Any = None  # NumPy's floating-point error state when it was recorded; None: tells nothing
        self.site = site
        self.sequence = next_sequence()
        self.visits = 0
        # What one pass over the graph notes of its nodes; `mark` is the pass's number.
        self.mark = self.place = self.uses = self.cost = 0
        # Set by evaluation, for `explain`: the plan, and the sites of its entries.
        self.made: tuple[Any, tuple[Site | None, ...], tuple[int, int, int, int]] | None = None

    @property
    def spec(self) -> Spec:
        return self.key.spec

    @property
    def shape(self) -> Shape:
        return self.key.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.key.spec.dtype

    def __repr__(self) -> str:
        return f"<{self.key}{'' if self.data is None and self.remote is None else ' evaluated'}>"


PINNED_LIMIT: Final = 1 << 30  # bytes, unless `config.memory_budget` says otherwise
# Bytes of leaves after which it is looked for memory that pending nodes alone hold.  What is let go of soon is found in
# caches and given out again: sums of solutions of 1.3 MB, 32 of them, took 8 % longer when all were kept.
UNSEEN_LIMIT: Final = 4 << 20


class Pinned:
    """How much memory leaves have brought into the graph since it was last flushed: a bound on what it pins."""

    __slots__ = ("due", "nbytes", "over", "unseen")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.nbytes = 0
        self.over = False  # the graph is to be flushed (contract C9)
        self.seen()

    def seen(self) -> None:
        """Memory that pending values hold has been looked for."""
        self.unseen = 0
        self.due = self.over  # something is to be done

    def add(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self.unseen += nbytes
        budget = config.memory_budget
        self.over = self.nbytes > (PINNED_LIMIT if budget is None else budget)
        self.due = self.over or self.unseen > UNSEEN_LIMIT


PINNED: Final = Pinned()


def leaf_key(spec: Spec) -> Key:
    """The one key of values in memory of this shape and dtype."""
    found = spec.leaf
    if found is None:
        found = spec.leaf = Key("leaf", None, spec)
    return found


def leaf(data: np.ndarray[Any, Any]) -> Node:
    """A node over memory that nobody else will write. `data`: C-contiguous, native byte order, of a compiled dtype."""
    spec = spec_of(data.shape, data.dtype)
    PINNED.add(spec.nbytes)
    node = Node(leaf_key(spec), ())
    node.data = data
    return node


class Waiting:
    """Whether operators wait for the last of their expression and read memory that is not theirs meanwhile.

    `close` computes them (`frontend/waiting.py`); who writes memory, gives it out or records has it done first.
    """

    __slots__ = ("close", "open")

    def __init__(self) -> None:
        self.open = False
        self.close: Any = None


WAITING: Final = Waiting()
_waiting: Final = WAITING  # in C


def finish_waiting() -> None:
    """Computes what waits, for those who write memory, give it out, record, or call what may."""
    if _waiting.open:
        _waiting.close()


# Recorded nodes, oldest first, as weak references: what nobody names any more is gone from the graph by itself.
TAPE: list[ref[Node]] = []


def record(key: Key, args: tuple[Arg, ...], site: Site | None = None) -> Node:
    """A new node on the tape."""
    finish_waiting()
    node = Node(key, args, site)
    TAPE.append(ref(node))
    return node
