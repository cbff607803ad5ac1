"""Owns floating-point errors: the state of NumPy's that operations are recorded under, and telling users of errors.

`np.errstate` holds for an operation by where it is written, not by when it runs.  A node that can raise keeps the
state it was recorded under.  A state that only warns or ignores lets it wait; what its kernel raised is told as a
warning at the user's line afterwards.  Any other state ("raise", "call", "print", "log", and underflow told at all)
wants to be obeyed at once: the operation is then evaluated by NumPy where it is written.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from lazyarray.ir.node import Site
from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW
from lazyarray.records import NamedTuple
from lazyarray.runtime.warned import warn_at

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Key, Node  # cimport

AT_ONCE: Final = -1
_KINDS: Final = (("divide", DIVIDE), ("over", OVERFLOW), ("invalid", INVALID))
# In the order in which NumPy looks at them (numpy/_core/src/umath/extobj.c).
_PHRASES: Final = ((DIVIDE, "divide by zero"), (OVERFLOW, "overflow"), (INVALID, "invalid value"))
_STATES_LIMIT: Final = 256
_TOLDS_LIMIT: Final = 4096

# id of a state -> the state (which keeps the id its own), the errors it warns of or AT_ONCE
_known: dict[int, tuple[Any, int]] = {}


class _Shared:
    """NumPy's error state where it has no context variable."""

    def __init__(self) -> None:
        self._states: dict[Any, Any] = {}

    def get(self) -> Any:
        """The present one."""
        state = (*np.geterr().items(), np.geterrcall())
        return self._states.setdefault(state, state)

    def set(self, state: Any) -> Any:
        """Makes one the present state; returns what `reset` is to be given."""
        before = self.get()
        np.seterr(**dict(state[:-1]))
        np.seterrcall(state[-1])
        return before

    def reset(self, before: Any) -> None:
        """The present state is the one of before `set`."""
        self.set(before)


def _state_variable() -> Any:
    """What has NumPy's present error state: one object for as long as nobody changes it."""
    try:
        from numpy._core.umath import _extobj_contextvar
    except ImportError:
        return _Shared()
    return _extobj_contextvar


STATE: Final = _state_variable()
error_state: Final[Callable[[], Any]] = STATE.get


def tells() -> bool:
    """Whether NumPy tells of any floating-point error now."""
    return any([told != "ignore" for told in np.geterr().values()])


class Last:
    """The state last seen that lets operations wait: comparing with it is all that recording does."""

    __slots__ = ("bits", "waits")

    def __init__(self) -> None:
        self.waits: Any = None
        self.bits = 0  # the errors that it warns of


LAST: Final = Last()
_last: Final = LAST  # in C


def must_run_now(state: Any) -> bool:
    """True when NumPy's present state `state` has to be obeyed at once."""
    bits = warned_of(state)
    if bits == AT_ONCE:
        return True
    LAST.waits, LAST.bits = state, bits
    return False


def warned_of(state: Any) -> int:
    """The errors that a state warns of, as bits, or AT_ONCE. A state not seen before must be the present one."""
    found = _known.get(id(state))
    if found is None:
        modes: dict[str, Any] = dict(np.geterr())
        if modes["under"] != "ignore" or not {"warn", "ignore"}.issuperset(modes.values()):
            bits = AT_ONCE
        else:
            bits = sum([bit for name, bit in _KINDS if modes[name] == "warn"])
        if len(_known) >= _STATES_LIMIT:
            _known.clear()
        found = _known[id(state)] = (state, bits)
    return found[1]


def wanted(node: Node) -> int:
    """The errors of which the user is to be told if the node raises them."""
    state = node.errors
    if state is None:
        return 0
    if state is _last.waits:
        return _last.bits & node.key.raises
    found = _known.get(id(state))
    bits = DIVIDE | OVERFLOW | INVALID if found is None else found[1]
    return bits & node.key.raises


def tells_as_now(node: Node) -> bool:
    """True where NumPy tells now of the very errors of which it is to tell for the node."""
    state = node.errors
    found = _known.get(id(state))
    return found is not None and found[0] is state and state is error_state() and found[1] == wanted(node)


def modes_of(node: Node) -> dict[str, Any]:
    """The node's state as `np.errstate` takes it."""
    bits = wanted(node)
    return {name: "warn" if bits & bit else "ignore" for name, bit in _KINDS} | {"under": "ignore"}


class Parts:
    """Nodes that are one operation to the user: what one of them has told, the others need not tell."""

    __slots__ = ("name", "told")

    def __init__(self, name: str) -> None:
        self.name = name
        self.told = 0


_parts: Final[WeakKeyDictionary[Node, Parts]] = WeakKeyDictionary()
# The same, which C asks whether it is empty without a call.
_some: Final[dict[Any, Parts]] = _parts.data  # type: ignore[attr-defined]


def join(name: str, nodes: Iterable[Node]) -> None:
    """The nodes are what NumPy calls `name`: their errors are told under that name, each kind once."""
    parts = Parts(name)
    for node in nodes:
        if node.errors is not None:
            _parts[node] = parts


def is_joined(node: Node) -> bool:
    """True for one of several nodes that are told as one."""
    return node in _parts


class Told(NamedTuple):
    """What is needed to tell a node's errors when the node may be gone."""

    key: Key
    site: Site | None
    errors: Any
    parts: Parts | None


_tolds: Final[dict[tuple[int, int, int, int], Told]] = {}


def hand_over(node: Node) -> Told:
    """The telling of a node's errors, which the node itself no longer cares for; one object for nodes alike."""
    parts = _parts.get(node) if _some else None
    site = node.site
    if parts is not None or site is None:
        told = Told(node.key, site, node.errors, parts)
        node.errors = None
        return told
    # What is kept keeps the ids its own.
    mark = (id(node.key), id(site[0]), site[1], id(node.errors))
    found = _tolds.get(mark)
    if found is None:
        if len(_tolds) >= _TOLDS_LIMIT:
            _tolds.clear()
        found = _tolds[mark] = Told(node.key, site, node.errors, None)
    node.errors = None
    return found


def are_told_so(nodes: list[Node], tolds: list[tuple[Any, ...]]) -> bool:
    """True if handing the nodes over, as many, would give just these (as plain tuples); then they are handed over."""
    place = 0
    for node in nodes:
        told = tolds[place]
        site = node.site
        known = told[1]
        if (
            node.key is not told[0]
            or node.errors is not told[2]
            or told[3] is not None
            or known is None
            or site is None
        ):
            return False
        if site[0] is not known[0] or site[1] != known[1] or (_some and node in _parts):
            return False
        place += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    for node in nodes:
        node.errors = None
    return True


def tell_later(told: Told, bits: int) -> None:
    """`tell` for what was handed over."""
    node = Node(told.key, (), told.site)
    node.errors = told.errors
    if told.parts is not None:
        _parts[node] = told.parts
    tell(node, bits)


def tell(node: Node, bits: int) -> None:
    """Warns of what the node raised, at the line that recorded it; once, however often it is computed."""
    bits &= wanted(node)
    node.errors = None
    parts = _parts.get(node)
    if parts is not None:
        bits &= ~parts.told
        parts.told |= bits
    if bits:
        name = told_name(node) if parts is None else parts.name
        for bit, phrase in _PHRASES:
            if bits & bit:
                warn_at(node.site, f"{phrase} encountered in {name}", RuntimeWarning)


_SCALAR_NAMES: Final = frozenset(
    ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "negative", "absolute")
)


def told_name(node: Node) -> str:
    """What NumPy calls the node's operation in a warning."""
    kind = node.key.kind
    attr: Any = node.key.attr
    if kind == "reduce":
        return "reduce"
    if kind == "scan":
        return "accumulate"
    if kind == "call":
        return str(attr.name)
    name = str(attr[0])
    return f"scalar {name}" if not node.key.spec.shape and name in _SCALAR_NAMES else name
