"""Owns `jit`: functions of arrays that are recorded once for each kind of arguments, and then only launched.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final, TypeAlias

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import assign, from_node, from_node_as, ndarray, spec_of_array, value
from lazyarray.frontend.copies import order_of
from lazyarray.frontend.loops import COMPILED
from lazyarray.frontend.quick import Fields, limits, managed, turned, wrapped  # cimport
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.ir import node as node_module
from lazyarray.ir.expression import capture, pending_closure
from lazyarray.ir.index_map import inverse
from lazyarray.ir.node import Key, Node  # cimport
from lazyarray.native.primitives import holds_in_c_order  # cimport
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.backend import current
from lazyarray.runtime.device import Device, placement
from lazyarray.runtime.device_errors import equal_sources
from lazyarray.runtime.device_run import DeviceRun
from lazyarray.runtime.direct import Direct  # cimport
from lazyarray.runtime.execute import Run  # cimport
from lazyarray.runtime.floating import tell
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.remote import seen
from lazyarray.runtime.running import plan_of

# The build reads such imports by the line.
# isort: split
from lazyarray.runtime.direct import direct_of
from lazyarray.runtime.running import settings  # cimport

TRACES_LIMIT: Final = 64  # kinds of arguments for which a function is recorded; then it is only called
Refuse: TypeAlias = Callable[[str, str], None]

_STATIC: Final = frozenset({int, float, complex, bool, str, bytes, type(None), type, np.dtype})
_INEXACT: Final = frozenset({np.dtype(code).type for code in "efdgFDG"})
_nparray: Final = np.ndarray
_seen: Final = seen  # in C
spec_of: Final = node_module.spec_of
leaf_key: Final = node_module.leaf_key


class Unfit(Exception):
    """Why a call cannot be replayed."""


class Trace:
    """What one call recorded: its plan, and where its arguments and results stand in it."""

    __slots__ = (
        "arguments",
        "backend",
        "device",
        "direct",
        "exact",
        "keys",
        "memo",
        "numbers",
        "orders",
        "outputs",
        "plan",
        "raising",
        "scalars",
        "shape",
        "sources",
        "specs",
    )

    def __init__(self, arguments: list[Any], results: list[Node], shape: Any, orders: list[Any]) -> None:
        places = {id(node): place for place, node in enumerate(arguments) if node is not None}
        signature, sources = capture(pending_closure(results), results)
        self.arguments: list[tuple[int, int]] = []  # places of leaves among the sources, and of the arguments they are
        self.sources: list[Any] = []
        self.raising: list[tuple[Node, Any]] = []
        for place, source in enumerate(sources):
            if type(source) is not Node:
                self.sources.append(source)
            elif not is_pending(source):
                if id(source) not in places:
                    raise Unfit("it reads an array that is neither an argument nor computed from arguments alone")
                self.arguments.append((place, places[id(source)]))
                self.sources.append(None)
            else:
                # What errors are told of, without the values of this call.
                stand_in = Node(source.key, (), source.site)
                stand_in.errors = source.errors
                if source.errors is not None:
                    self.raising.append((stand_in, source.errors))
                self.sources.append(stand_in)
        self.backend = current()
        if self.backend.name == "numpy":
            raise Unfit("the interpreter has no plans")
        self.device = placement(sources)
        self.exact = config.numerics == "numpy"
        self.plan = plan_of(signature)
        self.outputs = self.plan.outputs
        self.memo: dict[str, Any] = {} if self.device is None else {"equal": equal_sources(sources)}
        self.keys = [leaf_key(node.key.spec) for node in results]
        self.scalars = [not node.key.spec.shape for node in results]
        self.shape = shape  # of what is returned: one value, or a tuple or list of them
        self.orders = orders if any(orders) else None  # of each result's axes (`order_of`), or None for C order
        self.direct: Direct | None = None  # a plan that is one kernel
        self.numbers: list[Any] = []  # its scalars
        self.specs: tuple[Any, ...] = ()  # of the arguments, where all are arrays

    def prepare(self) -> None:
        """Notes what a call has to do where the plan is one kernel from the arguments to the results."""
        if self.device is not None:
            return
        places = [place for place, _ in self.arguments]
        self.direct = direct_of(self.plan, self.backend, {place: at for at, place in enumerate(places)})
        if self.direct is not None:
            self.numbers = self.direct.numbers(self.sources)

    def launch(self, arrays: list[Any]) -> Any:
        """The results of that kernel as a list; None where the general way is to be gone, and nothing has happened."""
        direct = self.direct
        if direct is None or ledger.listening:
            return None
        values: list[Any] = []  # held: nobody takes an argument's memory away meanwhile
        for _, argument in self.arguments:
            array: Fields = arrays[argument]
            data = array._np
            if data is None:
                node: Node | None = array._node
                data = None if node is None else node.data
                if data is None:
                    return None
            elif not holds_in_c_order(data):
                return None
            values.append(data)
        return direct.launch(values, self.numbers)

    def launch_there(self, arrays: list[Any], device: Device) -> Any:
        """The results on a device of a plan that was queued there before as one; None as of `launch`."""
        if ledger.listening:
            return None
        memo = self.memo
        graphs = memo["graphs"]
        read = memo.get("read")
        if read is None:
            places = {place: argument for place, argument in self.arguments}
            read = memo["read"] = [places[origin] for origin in graphs.origins]
        given: list[Any] = []
        for place in read:
            array: Fields = arrays[place]
            node: Node | None = array._node if array._np is None else None
            remote = None if node is None else node.remote
            if remote is None or remote.device is not device:
                return None
            given.append(remote)
        with boundary.lock, device.active():
            return graphs.again(given, device, memo)

    def answer_there(self, made: list[Any]) -> Any:
        """Results on a device as the function returns them."""
        found: list[Any] = []
        at = 0
        for remote in made:
            node: Node = Node(self.keys[at], ())
            node.remote = remote
            found.append(scalar_from_node(node) if self.scalars[at] else managed(node))
            at += 1  # noqa: SIM113
        return self.given(found)

    def given(self, found: list[Any]) -> Any:
        """The results as the function returns them."""
        if self.orders is not None:
            found = [a if perm is None else _in_order(a, perm) for a, perm in zip(found, self.orders, strict=True)]
        return found[0] if self.shape is None else self.shape(found)

    def replay(self, arguments: list[Any]) -> Any:
        """Runs the plan on other arguments of the same kind."""
        ledger.evaluation(REPLAYED)
        if self.device is None:
            made = self.launch(arguments)
            if made is not None:
                return self.answer_of(made)
        elif "graphs" in self.memo:
            made = self.launch_there(arguments, self.device)
            if made is not None:
                return self.answer_there(made)
        sources = list(self.sources)
        held = []  # a second reference: no plan writes over an argument's memory
        for place, argument in self.arguments:
            node = _leaf_of(arguments[argument])
            held.append(node)
            sources[place] = node
        for stand_in, errors in self.raising:
            stand_in.errors = errors
        if self.device is not None:
            return self.pack(self.replay_there(sources, self.device))
        for place, _ in self.arguments:
            if sources[place].data is None:
                boundary.evaluate((sources[place],), REPLAYED)
        run = Run(self.plan, sources, self.backend, {})
        run.run()
        for node, bits in run.raised:
            tell(node, bits)
        found = []
        for slot in self.outputs:
            memory = run.memory[slot]
            found.append(from_node(_holding(memory)))
        if self.direct is None:
            self.prepare()
        return self.pack(found)

    def answer_of(self, made: list[Any]) -> Any:
        """Results in memory as the function returns them: small ones are NumPy's to work on."""
        found: list[Any] = []
        at = 0
        for data in made:
            key: Key = self.keys[at]
            if self.scalars[at]:
                found.append(data[()])
            elif key.spec.size < limits.eager:
                found.append(wrapped(data))
            else:
                node: Node = Node(key, ())
                node.data = data
                found.append(managed(node))
            at += 1  # noqa: SIM113
        return self.given(found)

    def replay_there(self, sources: list[Any], device: Device) -> list[Any]:
        """Queues the plan on a device; its results stay there."""
        run = DeviceRun(self.plan, sources, device, {})
        run.memo = self.memo
        with boundary.lock:
            run.run()
        for node, bits in run.raised:
            tell(node, bits)
        found = []
        for slot, key in zip(self.outputs, self.keys, strict=True):
            node = Node(key, ())
            node.remote = run.memory[slot]
            found.append(from_node(node))
        return found

    def pack(self, arrays: list[Any]) -> Any:
        """The results as the function returns them."""
        return self.given([scalar_from_node(a._node) if s else a for a, s in zip(arrays, self.scalars, strict=True)])


def _in_order(array: Any, perm: tuple[int, ...]) -> Any:
    """What a replay computed, as an array with its axes in another order that nobody else has."""
    data = array._np
    if data is not None:
        return wrapped(data.transpose(inverse(perm)).copy("K"))
    return from_node_as(array._node, perm)


REPLAYED: Final = "a jit-compiled function was called"


def _holding(data: Any) -> Node:
    """A node that is evaluated already, over C-contiguous memory."""
    node = Node(leaf_key(spec_of(data.shape, data.dtype)), ())
    node.data = data
    return node


def _leaf_of(array: Any) -> Node:
    """An argument's value in memory, as a node to be read now and not kept."""
    data = array._np
    if data is not None and data.flags.c_contiguous:
        return _holding(data)
    found: Node = value(array) if data is not None or array._node is None else array._node
    if is_pending(found):
        boundary.evaluate((found,), REPLAYED, stay=True)
    return found


def _spec_of(array: Fields) -> Any:
    data = array._np
    if data is not None:
        return spec_of(data.shape, data.dtype)
    node: Node | None = array._node
    return spec_of_array(array) if node is None else node.key.spec  # type: ignore[arg-type]


class _Number(str):
    """A number in words, in the place of one that others equal which compute something else."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Items(tuple[Any, ...]):
    """A tuple's items with their types."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(tuple([item for _, item in self]))


def _told_apart(argument: Any) -> Any:
    """An argument that no other equals which computes something else: 0.0 is -0.0, and (1,) is (True,)."""
    kind = type(argument)
    if kind is tuple:
        return _Items([(type(item), _told_apart(item)) for item in argument])
    if (kind is float or kind is complex or kind in _INEXACT) and argument == argument:
        return _Number(repr(argument))
    return argument  # a NaN is itself alone


def _is_of(arguments: tuple[Any, ...], specs: tuple[Any, ...]) -> bool:
    """True for arrays of these specs."""
    if len(arguments) != len(specs):
        return False
    at = 0
    for argument in arguments:
        if type(argument) is not ndarray or _spec_of(argument) is not specs[at]:
            return False
        at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    return True


def _said(item: Any) -> str:
    """A part of a kind of arguments in words."""
    if type(item) is not tuple:
        return str(item)
    return repr(item[1]) if len(item) == 2 else f"{item[0]}={item[2]!r}"


def _place_of(array: Any) -> Any:
    """The device where an argument lives, as part of its kind; None for the host."""
    if array._np is not None:
        return None
    found = array._node
    if found is None:
        found = value(array)
    remote = found.remote
    if remote is None and found.data is None:
        boundary.evaluate((found,), REPLAYED, stay=True)
        remote = found.remote
    return remote.device.name if remote is not None and remote.home else None


def _is_shared(array: Any) -> bool:
    return array._np is None and array._node is None


class Jitted:
    """A function under `jit`; `misses` tells why calls were recorded again, or not replayed."""

    def __init__(self, function: Callable[..., Any], static: tuple[str, ...]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.static = frozenset(static)
        self.misses: list[str] = []
        self._traces: dict[Any, Trace | str] = {}  # or why calls with such arguments are not replayed
        self._last: Trace | None = None  # of arrays alone, on the host

    def __reduce__(self) -> Any:
        return Jitted, (self.function, tuple(self.static))

    def __repr__(self) -> str:
        return f"<lazyarray.jit of {self.function!r}, {len(self._traces)} kinds of arguments>"

    def __get__(self, instance: Any, owner: Any) -> Any:
        from types import MethodType

        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns: replayed where a call with arguments of their kind was recorded."""
        backend = settings.backend
        if backend is None:
            backend = settings.work_out()
        placed = settings.away or _seen.any
        last = self._last
        if (
            last is not None
            and not placed
            and not kwargs
            and last.backend is backend
            and last.exact == settings.exact
            and _is_of(args, last.specs)
        ):
            return last.replay(list(args))
        key: list[Any] = []
        arrays: list[Any] = []
        arrays_alone = not placed and not kwargs
        for argument in args:
            if type(argument) is ndarray:
                key.append(_spec_of(argument))
                if placed:
                    key.append(_place_of(argument))
                arrays.append(argument)
            elif type(argument) in _STATIC:
                kind = type(argument)
                arrays_alone = False
                key.append((kind, argument if argument and kind is not complex else _told_apart(argument)))
                arrays.append(None)
            else:
                return self._refused(f"an argument is a {type(argument).__name__}", args, kwargs)
        for name, argument in kwargs.items():
            if name not in self.static and type(argument) not in _STATIC:
                return self._refused(f"{name}= is a {type(argument).__name__}", args, kwargs)
            key.append((name, type(argument), _told_apart(argument)))
        if placed:
            key.append(config.device)
        found = tuple(key)
        try:
            trace = self._traces.get(found)
        except TypeError:
            return self._refused("an argument cannot be hashed", args, kwargs)
        if trace is None:
            return self._record(found, arrays, args, kwargs)
        if isinstance(trace, str):
            return self._refused(trace, args, kwargs)
        known = trace
        if known.backend is not backend or known.exact != settings.exact:
            return self._refused("it was recorded under another backend or another numerics", args, kwargs)
        if arrays_alone:
            known.specs = found
            self._last = known
        return known.replay(arrays)

    def _refused(self, why: str, args: Any, kwargs: Any) -> Any:
        if len(self.misses) < TRACES_LIMIT:
            self.misses.append(f"called without replaying: {why}")
        return self.function(*args, **kwargs)

    def _news(self, key: tuple[Any, ...]) -> str:
        """What is new in a kind of arguments: all of it, or what tells it from the known one that is nearest to it."""
        said = [_said(item) for item in key if item is not None]
        nearest: list[str] | None = None
        for known in self._traces:
            if len(known) == len(key):
                pairs = [(a, b) for a, b in zip(key, known, strict=True) if a != b]
                if nearest is None or len(pairs) < len(nearest):
                    nearest = [f"{_said(new)} in the place of {_said(old)}" for new, old in pairs]
        return ", ".join(said if nearest is None else nearest)

    def _record(self, key: Any, arrays: list[Any], args: Any, kwargs: Any) -> Any:
        kinds = self._news(key)
        if len(self._traces) >= TRACES_LIMIT:
            return self._refused(f"more than {TRACES_LIMIT} kinds of arguments; the last: {kinds}", args, kwargs)
        for array in arrays:
            if array is not None and array.dtype not in COMPILED:
                why = self._traces[key] = f"arrays of dtype {array.dtype} are not compiled"
                return self._refused(why, args, kwargs)
        events: list[str] = []

        def listen(event: str, what: str) -> None:
            events.append(f"{event}: {what}")

        nodes = [None if array is None else _leaf_of(array) for array in arrays]
        given = [None if node is None else from_node(node) for node in nodes]
        shown = [argument if array is None else array for argument, array in zip(args, given, strict=False)]
        ledger.refusing.append(listen)
        try:
            with config.set(eager_below=0):
                result = self.function(*shown, **kwargs)
                if events:
                    raise Unfit(f"it was cut by an {events[0]}")
                trace = self._trace_of(result, given, nodes)
        except Unfit as error:
            self._traces[key] = str(error)
            self.misses.append(f"{kinds}: not replayed, {error}")
            return self._as_called(result, arrays, given, nodes, args, kwargs)
        finally:
            ledger.refusing.remove(listen)
        self._traces[key] = trace
        self.misses.append(f"{kinds}: recorded")
        return result

    def _as_called(
        self, result: Any, arrays: list[Any], given: list[Any], nodes: list[Any], args: Any, kwargs: Any
    ) -> Any:
        """What the call gives without `jit`, after it has run on stand-ins for its arguments."""
        items = result if type(result) in (tuple, list) else (result,)
        bases = [array._base for array in given if array is not None and _is_shared(array)]
        for item in items:
            if type(item) is ndarray and (
                any(item is array for array in given)
                or (_is_shared(item) and any(item._base is base for base in bases))
            ):
                return self.function(*args, **kwargs)  # it shows an argument
        for array, stand_in, node in zip(arrays, given, nodes, strict=True):
            if array is not None and value(stand_in) is not node:
                assign(array, stand_in)
        return result

    def _trace_of(self, result: Any, given: list[Any], nodes: list[Any]) -> Trace:
        for array, node in zip(given, nodes, strict=True):
            if array is not None and value(array) is not node:
                raise Unfit("it writes an argument")
        shape = type(result) if type(result) in (tuple, list) else None
        results = []
        orders: list[Any] = []
        bases = [array._base for array in given if array is not None and _is_shared(array)]
        for item in result if shape is not None else (result,):
            if type(item) is LazyScalar:
                results.append(item._node)
                orders.append(None)
            elif type(item) is ndarray:
                if _is_shared(item):
                    if any(item._base is base for base in bases):
                        raise Unfit("it returns a view of an argument, or two of one array")
                    bases.append(item._base)
                whole = turned(item)
                order = None if whole is None else order_of(item)
                results.append(value(item) if whole is None or order is None else whole)
                orders.append(order)
            else:
                raise Unfit(f"it returns a {type(item).__name__}")
        if not all(is_pending(node) for node in results):
            raise Unfit("it returns an argument, or what is no computation")
        if len({id(node) for node in results}) < len(results):
            raise Unfit("it returns one value twice")
        return Trace(nodes, results, shape, orders)


def jit(function: Callable[..., Any] | None = None, /, *, static: tuple[str, ...] = ()) -> Any:
    """Has calls of `function` run what the first call with arguments of their kind recorded.

    The kind of an array is its dtype and shape; of numbers, strings and other arguments their value (`static`: names
    of keywords that may be of any hashable type). Python's code in the function runs only when it is recorded, so it
    should compute its results from its arguments and nothing else. A call that cannot be replayed is a call as ever:
    where the function looks at values (`if x.sum() > 0:`), uses what is not compiled, writes its arguments, or reads
    arrays that are no arguments. `misses` of what `jit` returns says so, call by call.

    Returns the callable; usable as `@jit` and as `@jit(static=("mode",))`.
    """
    if function is None:
        return lambda inner: Jitted(inner, static)
    return Jitted(function, static)
