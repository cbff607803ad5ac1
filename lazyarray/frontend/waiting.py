"""Owns operators that wait for the last of their expression: those on plain arrays of middle size, computed as one.

Arrays below `config.eager_below` are NumPy's memory, and each operator on them runs at once. Those of one span
(`spans.py`) need not: nobody sees what they hand each other. Where that is much (`usual.join`), they are recorded, over
the operands' own memory, and evaluated at the last one, whose result is plain again. Where a part of another array is
given that value, the last one waits, too (`stored.py`). Code that runs in between (a property, a `__getitem__`) may
write that memory: before anything is written, given out or recorded by others, what waits is computed (`close`). One
of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.loops import COMPILED, MEMO_LIMIT, NUMBERS
from lazyarray.frontend.pauses import PAUSES, pause
from lazyarray.frontend.quick import tell
from lazyarray.frontend.spans import ARRAY, LAST, MASK, SPANS, demand, learn, need
from lazyarray.frontend.windows import window_of
from lazyarray.ir.node import WAITING
from lazyarray.native.primitives import is_of, present, referent, site_here, span_here  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.pauses import is_paused  # cimport
from lazyarray.frontend.quick import REFLECTED, UNARY, Fields, Op, find_key, in_range, known, limits  # cimport
from lazyarray.ir.node import Key, Node, Spec, leaf_key, next_sequence, spec_of  # cimport
from lazyarray.native.primitives import count, create, thread_here, weak, whole_of  # cimport
from lazyarray.runtime.along import is_pending  # cimport
from lazyarray.runtime.evaluate import INTERPRETED, JOINED
from lazyarray.runtime.floating import LAST as LAST_STATE
from lazyarray.runtime.floating import STATE, must_run_now

# isort: split
from lazyarray.frontend.quick import managed, new_node, part_in, reordered  # cimport
from lazyarray.runtime.evaluate import evaluate  # cimport
from lazyarray.runtime.remote import stays_home  # cimport

_NUMBERS: Final = NUMBERS
_LAST: Final = LAST
_ARRAY: Final = ARRAY
_MASK: Final = MASK
_LOOKED_AT: Final = 64  # operators of a span that are counted; values that are used twice count twice
_last: Final = LAST_STATE
_state: Final = STATE
_waiting: Final = WAITING
_spans: Final = SPANS
_pauses: Final = PAUSES
_interpreted: Final = INTERPRETED  # in C
# By code and place of spans' last operators: how often they ran, and the least that they needed.
_seen_to_need: dict[tuple[int, int], Any] = {}
# By code: places of spans' last operators that are not to be counted again. Of codes that `SPANS` keeps.
_counted: dict[int, set[int]] = {}
# By the same: how often in turn it had new sizes, and the turns of its next pause.
_renewed: dict[tuple[int, int], tuple[int, int]] = {}
_NEW_RUNS: Final = 3  # from which on it is taken to have new sizes each time
_TURNS: Final = 16
_MOST_TURNS: Final = 64
_WINDOWS: Final = 64  # of one run that are known
_RUNS: Final = 3  # in the first one, code is looked through on the way


class Run:
    """The operators that wait and that none of the others has taken, the memory that they read, and their thread.

    Nodes, as weak references: an error on the way leaves nothing behind.
    """

    __slots__ = ("code", "counted", "leaves", "nodes", "spec", "stored", "stores", "takers", "thread", "windows")

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.leaves: list[Any] = []
        # Over memory of arrays with gaps, by its owner's id and a dtype: weak references, what is recorded holds them.
        self.windows: dict[Any, Any] = {}
        self.thread = 0
        self.spec: Spec | None = None  # of the memory that was read last
        self.stored: Any = None  # the array that waits for being stored, as a weak reference
        self.code: Any = None  # the last code object whose spans ran, its takers and stores, and what was counted in it
        self.takers: dict[int, Any] = {}
        self.stores: dict[int, int] = {}
        self.counted: set[int] = set()

    def forget(self) -> None:
        """Nothing waits."""
        self.stored = None
        self.nodes.clear()
        self.leaves.clear()
        if self.windows:
            self.windows.clear()

    def turn_to(self, code: Any) -> None:
        """What is asked next is asked of this code object."""
        spans = _spans.get(id(code))
        self.code = code
        self.takers = {} if spans is None else spans[2]
        self.stores = {} if spans is None else spans[3]
        self.counted = set() if spans is None else _counted.setdefault(id(code), set())


RUN: Final = Run()
_run: Final = RUN  # in C


def start(op: Op, self: Fields, other: Any, form: int, plain: int, compiled: int) -> Any:
    """An operator on plain memory that waits; None where it does not, and nothing has happened."""
    state = present(_state)
    if (state is not _last.waits and must_run_now(state)) or not stays_home():
        return None
    thread = thread_here()
    if _waiting.open:
        if thread != _run.thread:
            return None
    elif not _is_own(self) or (type(other) is known.array and not _is_own(other)):
        return None
    site: Any = site_here(plain + 1, compiled)
    if _pauses and is_paused(site):
        return None
    found = _record(op, self, other, form, site, False)
    if found is not None:
        _run.thread = thread
        _waiting.open = True
    elif not _waiting.open:
        _run.forget()
    return found


def go_on(op: Op, self: Fields, other: Any, form: int, plain: int, compiled: int) -> Any:
    """An operator on what waits; None where it goes the way of all others, and what waited has been computed."""
    if thread_here() == _run.thread:
        site = site_here(plain + 1, compiled)
        found = _record(op, self, other, form, site, True)
        if found is not None:
            span = span_here(plain + 1, compiled, _spans, learn)
            if not span or span & _LAST:
                _end(found, site, span >> 1)
            else:
                _waiting.open = True
                if _run.stores and site[0] is _run.code and site[1] in _run.stores:
                    _run.stored = weak(found)
            return found
    close()
    return None


def _settle_stored(value: Fields) -> None:
    """Computes what waited for being stored, and is now seen by others: plain memory, as of all last operators."""
    node: Node | None = value._node
    if node is not None and value._np is None and _place_of(node) >= 0:
        _end(value, node.site, _expected(node))


def _expected(node: Node) -> int:
    """What the span that ends with a node needs, as far as the code tells."""
    made: Any = node.site
    spans = _spans.get(id(made[0]))
    return 0 if spans is None else spans[0][made[1] // 2] >> 1


def count_stored(node: Node) -> None:
    """Sees to it that what a span needs is counted, whose last value goes where it is stored."""
    _count_once(node, node.site, _expected(node), _handed(node))


def _record(op: Op, self: Fields, other: Any, form: int, site: Any, going: bool) -> Any:
    """The operator recorded; None where an operand takes thought. `going`: one of them waits, or it is no concern here.

    What waits is for its taker in the code alone.
    """
    own = _operand(self, site)
    right: Node | None = None
    if own is None:
        return None
    kind = type(other)
    try:
        if form == UNARY:
            found = find_key(op, own.key.spec, None)
            args: Any = (own,)
        elif kind is known.array:
            right = _operand(other, site)
            if right is None:
                return None
            found = find_key(op, own.key.spec, right.key.spec)
            args = (own, right)
        elif kind is float or (kind is int and -128 <= other <= 127) or (kind is not int and kind in _NUMBERS):
            if form == REFLECTED:
                found = in_range(find_key(op, kind, own.key.spec), other)
                args = (other, own)
            else:
                found = in_range(find_key(op, own.key.spec, kind), other)
                args = (own, other)
        else:
            return None
    except Exception:
        close()  # what NumPy would have warned of before
        raise
    if type(found) is not Key:
        return None
    key: Key = found
    if not key.spec.shape or op.reads_exponents:
        return None
    shape = key.spec.shape
    if reordered(own) and not _decides(right, shape):
        return None
    if right is not None and reordered(right) and not _decides(own, shape):
        return None
    entries = _run.nodes
    mine = _place_of(own)
    theirs = -1 if right is None else _place_of(right)
    if (mine >= 0 and not _takes(site, own)) or (right is not None and theirs >= 0 and not _takes(site, right)):
        return None
    if mine < 0 and theirs < 0 and going:
        return None
    # Before a node is made, which may have all that is pending evaluated.
    if mine >= 0:
        _drop(mine)
    if theirs >= 0 and theirs != mine:
        _drop(theirs - 1 if 0 <= mine < theirs else theirs)
    node = new_node(key, args, site)
    entries.append(weak(node))
    return managed(node)


def _drop(place: int) -> None:
    """Takes an operator out of what waits."""
    if len(_run.nodes) == 1:
        _run.nodes.clear()
    else:
        del _run.nodes[place]


def _takes(site: Any, node: Node) -> bool:
    """Whether an operator is the one that gets to see this value, in the code alone."""
    made: Any = node.site  # of each recorded node
    if made[0] is not site[0]:
        return False
    if made[0] is not _run.code:
        _run.turn_to(made[0])
    places = _run.takers.get(made[1])
    return places is not None and site[1] in places


def _place_of(node: Node) -> int:
    """Where it is among what waits; -1 for what does not."""
    entries = _run.nodes
    for at in range(len(entries) - 1, -1, -1):
        if referent(entries[at]) is node:
            return at
    return -1


def _is_own(array: Fields) -> bool:
    """False for memory that somebody else refers to, which may be written without our being asked. Nothing waits."""
    return array._np is None or _seen(array) <= _ALONE


def _operand(array: Fields, site: Any) -> Node | None:
    """An array's value, without a copy; None where that takes thought."""
    data = array._np
    if data is None:
        pending: Node | None = array._node
        return pending
    whole = whole_of(data)
    if whole is None:
        whole = _window_of(data)
        if whole is None:
            return None
    leaf: Node | None = None
    for entry in _run.leaves:
        node: Node = referent(entry)
        if node is not None and node.data is whole:
            leaf = node
    # Others may write what they refer to, as in `_is_own`.
    if whole is data and count(whole) > _ALONE + (leaf is not None):
        return None
    if leaf is None:
        spec: Spec | None = _run.spec
        if spec is None or not is_of(whole, spec.shape, spec.dtype):
            spec = spec_of(whole.shape, whole.dtype)
            if spec.leaf is None and whole.dtype not in COMPILED:
                return None
            _run.spec = spec
        leaf = lent(spec, whole)
        _run.leaves.append(weak(leaf))
    if whole is data:
        return leaf
    return part_in(leaf, data, site)


def lent(spec: Spec, whole: Any) -> Node:
    """`ir.node.leaf` of memory that is lent for a moment, and pins nothing; `Node.__init__` written out, for speed."""
    node: Node = create(Node)
    node.key = leaf_key(spec)
    node.args = ()
    node.data = whole
    node.remote = node.errors = node.site = node.made = None
    node.sequence = next_sequence()
    node.visits = node.mark = 0
    return node


def _window_of(data: Any) -> Any:
    """The one window of this run over the memory that an array with gaps lies in; None where there is none.

    `quick.part_in` says of each array whether it lies at whole elements of it.
    """
    token = (id(data.base), data.dtype.str)
    entry = _run.windows.get(token)
    found = None if entry is None else referent(entry)
    if found is None:
        found = window_of(data)
        if found is not None:
            if len(_run.windows) >= _WINDOWS:
                _run.windows.clear()
            _run.windows[token] = weak(found)
    return found


def _decides(node: Node | None, shape: Any) -> bool:
    """Whether a result is in C order whatever the other operand's order: this one is, and has all of its elements.

    Where operands disagree, NumPy's iterator stays with C's order (`best_order`).
    """
    return node is not None and node.key.kind != "view" and node.key.spec.shape == shape


def _seen(array: Fields) -> int:
    data = array._np
    whole = whole_of(data)
    return count(whole) if whole is data else 0


def _measure() -> int:
    """What counting shows in `_operand` of memory that only its array refers to."""
    array = Fields()
    array._np = np.empty(1)
    return _seen(array)


_ALONE: Final = _measure()


def _needed(node: Node, expected: int, handed: int) -> int:
    """What the span that ends with a node needs, as `spans.py` counts it; `expected` if that takes long to count.

    `handed`: what the node itself hands on.
    """
    parts = 0
    left = [node]
    for _ in range(_LOOKED_AT):
        if not left:
            return need(handed, parts)
        above: Node = left.pop()
        for arg in above.args:
            if type(arg) is Node:
                below: Node = arg
                if below.key.kind == "view":
                    parts += 1
                elif below.data is None:
                    handed += _handed(below)
                    left.append(below)
    return expected


def _handed(node: Node) -> int:
    """What an operator hands on, as `spans.py` counts it."""
    return _MASK if node.key.spec.dtype.char == "?" else _ARRAY


def _count_once(node: Node, site: Any, expected: int, handed: int) -> None:
    """Counts what the span that ends with a node needs, until that is known; `handed`: what the node hands on."""
    if site[1] not in _run.counted:
        _count(site, _needed(node, expected, handed), expected)


def _count(site: Any, needed: int, expected: int) -> None:
    """Takes note of what a span needs; its number is raised where that is more in each of some runs."""
    if len(_seen_to_need) >= MEMO_LIMIT:
        _seen_to_need.clear()
    place = (id(site[0]), site[1])
    seen = _seen_to_need.get(place)
    runs, least = (1, needed) if seen is None else (seen[0] + 1, min(seen[1], needed))
    if runs < _RUNS and least > expected:
        _seen_to_need[place] = (runs, least)
        return
    _seen_to_need.pop(place, None)
    _run.counted.add(site[1])
    if least > expected:
        demand(site[0], site[1], least)


def _end(array: Fields, site: Any, expected: int) -> None:
    """Computes the last operator of a span, whose array is plain then. Those of spans around it go on waiting."""
    node: Node = array._node
    _drop(_place_of(node))
    if site[0] is not _run.code:
        _run.turn_to(site[0])
    _count_once(node, site, expected, 0)
    _waiting.open = False
    _interpreted.left = _interpreted.planned = None
    evaluate([node], JOINED)
    look_back(site)
    if node.key.spec.size < limits.eager:
        array._np = node.data
        array._node = None
    if _run.nodes:
        _waiting.open = True
    else:
        _run.forget()


def look_back(site: Any) -> None:
    """The span that ends at a site has just been computed: for some turns its operators may not wait.

    That is quicker while NumPy is to compute it, and where each turn has other sizes, and needs a plan.
    """
    left = _interpreted.left
    if left is not None:
        _interpreted.left = None
        turns = left.ahead()
        if turns:
            pause(site, turns)
    elif _interpreted.planned is not None:
        _note_new_sizes(site, _interpreted.planned)
        _interpreted.planned = None
    elif _renewed:
        _renewed.pop((id(site[0]), site[1]), None)


def _note_new_sizes(site: Any, known: Any) -> None:
    """A span had sizes that it never had; `known`: what `runtime/first.py` knows of its expression.

    Only NumPy's bits are those of kernels, as there.
    """
    place = (id(site[0]), site[1])
    runs, turns = _renewed.get(place, (0, _TURNS))
    if len(_renewed) >= MEMO_LIMIT:
        _renewed.clear()
    _renewed[place] = (runs + 1, turns)
    if runs + 1 < _NEW_RUNS:
        return
    if not known.price:
        known.look()
    if known.suits and not known.unlike:
        pause(site, turns)
        _renewed[place] = (runs, min(2 * turns, _MOST_TURNS))


def close() -> None:
    """Computes what waits."""
    _waiting.open = False
    stored = None if _run.stored is None else referent(_run.stored)
    _run.stored = None
    if stored is not None:
        _settle_stored(stored)
        _waiting.open = False
    nodes = []
    for entry in _run.nodes:
        node: Node = referent(entry)
        if node is not None and is_pending(node):
            nodes.append(node)
    _run.forget()
    if nodes:
        evaluate(nodes, JOINED)


_waiting.close = close
tell(start=start, go_on=go_on)
