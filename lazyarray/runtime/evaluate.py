"""Owns the one evaluation boundary: makes the values of nodes present in memory.

What is evaluated: the nodes asked for; with them, named nodes that are dear to compute again; and small pending
results (the other statistics of one array, say) that need nothing but what is read anyway.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from lazyarray.ir.expression import Signature, expression_of
from lazyarray.ir.node import PINNED, TAPE, Node
from lazyarray.native.primitives import referent  # cimport
from lazyarray.runtime.along import companions, readers_first, releasing
from lazyarray.runtime.backend import NotReady
from lazyarray.runtime.device import fetch, fetch_part, placement, told_by
from lazyarray.runtime.device_errors import tell_waiting
from lazyarray.runtime.floating import tell, wanted
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.liveness import named_and_dear, reduces, uses_of_ending, writes  # cimport
from lazyarray.runtime.remote import seen
from lazyarray.runtime.running import plan_of, running
from lazyarray.runtime.settling import Wanted, catch_up, changes, under_way, where
from lazyarray.runtime.warned import install

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.expression import capture, pending_closure  # cimport
from lazyarray.runtime import recalled, repeated
from lazyarray.runtime.along import is_pending, others, pending, stands_apart, unused  # cimport
from lazyarray.runtime.recalled import Recalled  # cimport
from lazyarray.runtime.repeated import Repeat  # cimport
from lazyarray.runtime.run import AnyDirect  # cimport
from lazyarray.runtime.running import enter, is_planned, leave, run_of, run_plan, run_there, settings  # cimport
from lazyarray.runtime.settling import settle, sites_of  # cimport

ASKED: Final = "evaluate() was called"
JOINED: Final = "the last operator of an expression on arrays of middle size"
AT_ONCE: Final = "the error state is to be obeyed at once"
SHARED: Final = "others can write what it reads"
BUDGET: Final = "the recording reached its budget"
HOLDING: Final = "it held memory that nothing else refers to"
HELD_UNSEEN: Final = 16 << 20  # bytes of new results after which it is looked for memory that pending ones hold


class Interpreted:
    """What first evaluations (`runtime/first.py`) and those who ask for them tell each other.

    `left`: what is left to NumPy of the structure that it evaluated last, until somebody looks. `planned`: the same of
    an expression that was compiled for other sizes, and got its plan. `given`: memory that may be written over, whoever
    refers to it.
    """

    __slots__ = ("given", "left", "planned")

    def __init__(self) -> None:
        self.given: Any = None
        self.left: Any = None
        self.planned: Any = None


INTERPRETED: Final = Interpreted()
_interpreted: Final = INTERPRETED  # in C

# Asked before each evaluation; what they return is given the outputs' values after it (see `inspect/verify.py`).
Shadow: TypeAlias = Callable[[Signature, list[Any]], Callable[[list[Any]], None] | None]
shadows: Final[list[Shadow]] = []

# Nodes whose evaluation, when nobody asked for it, met the end of memory.
too_large: Final[WeakSet[Node]] = WeakSet()
_pinned: Final = PINNED  # in C
_tape: Final = TAPE
_changes: Final = changes  # in C
_under_way: Final = under_way
_seen: Final = seen  # in C
_repeats: Final = repeated.repeats
_recalled: Final = recalled.recalled

# One thread at a time evaluates (nodes lose their arguments there) or moves the value of a base that views share.
lock = threading.RLock()


def _renew_lock() -> None:
    global lock
    lock = threading.RLock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def evaluate(nodes: Sequence[Node], reason: str = "asked for", alone: bool = False, stay: bool = False) -> None:
    """Gives every node its data. On an error the nodes not reached keep their expressions and stay usable.

    `alone`: nothing that the nodes do not need is computed along. `stay`: what is computed on a device stays there.
    """
    held = lock
    held.acquire()  # C calls this sooner than what `with` asks for
    try:
        if _under_way:
            catch_up()
            device = getattr(_under_way[-1], "device", None)
            if device is not None:  # which may be putting that run on record, but none of this
                with device.active():
                    evaluate_locked(nodes, reason, alone, stay)
                return
        evaluate_locked(nodes, reason, alone, stay)
    finally:
        held.release()


def evaluate_locked(nodes: Sequence[Node], reason: str, alone: bool, stay: bool) -> None:
    """`evaluate` in the thread that holds the lock."""
    if type(nodes) is list and len(nodes) == 1 and is_pending(nodes[0]):
        absent = targets = nodes
    else:
        absent = [node for node in (nodes if len(nodes) == 1 else dict.fromkeys(nodes)) if node.data is None]
        targets = [node for node in absent if node.remote is None]
    if targets and not stay and _seen.any and not shadows:
        targets = without_parts(targets, reason)
    if targets and (alone or not came_before(targets, reason)):
        try:
            evaluate_pending(targets, reason, alone)
        except MemoryError:
            if alone:
                raise
            # Perhaps it was what is computed along that did not fit.
            evaluate_pending([node for node in targets if is_pending(node)], reason, True)
        except ImportError as error:
            if type(error) is not NotReady and not is_being_imported():
                raise
            interpret_pending([node for node in targets if is_pending(node)], reason)
        prune()
    if not stay:
        away = [node for node in absent if node.data is None]
        if away:
            fetch(away, reason)
        if absent and told_by:
            tell_waiting()


def is_being_imported() -> bool:
    """True while a module of this package's is imported: a signal handler evaluates in the middle of that."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("lazyarray")]
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in modules)


def interpret_pending(targets: list[Node], reason: str) -> None:
    """Gives nodes their data by NumPy: what does it faster is not all there yet."""
    signature, sources = capture(pending_closure(targets), targets)
    interpret_nodes(targets, signature, sources, reason)


def interpret_nodes(outputs: list[Node], signature: Signature, sources: list[Any], reason: str) -> None:
    """Gives nodes their data by NumPy, operation by operation."""
    from lazyarray.runtime.interpret import interpret

    fetch([source for source in sources if type(source) is Node], reason)
    for node, value in zip(outputs, interpret(expression_of(signature), sources), strict=True):
        if is_pending(node):
            settle(node, value)


def without_parts(targets: list[Node], reason: str) -> list[Node]:
    """The targets but for small parts of values on devices, which are copied from there at once."""
    left = [node for node in targets if not fetch_part(node, reason)]
    if len(left) < len(targets):
        ledger.evaluation(reason)
        _changes.count += len(targets) - len(left)
        if not left:
            prune()
    return left


def recall(ways: list[Recalled], targets: list[Node], reason: str, alone: bool) -> bool:
    """True if one of these evaluations (`runtime/recalled.py`) is asked for, whose plan has now run again.

    `alone`: as in `evaluate`.
    """
    before = _changes.count
    known: Recalled
    try:
        for known in ways:
            sources = known.match(targets)
            if sources is not None:
                break
        else:
            return False
        held = not alone and _changes.nbytes >= HELD_UNSEEN
        if not alone and (held or known.reduces or known.writes):
            if not stands_apart(targets) and (held or not stands_alone(known, sources, targets)):
                return False
            if held:
                _changes.nbytes = 0
    except Exception:
        if _changes.count == before:
            raise
        return False  # as below, in the middle of what was read
    if _changes.count != before:
        return False  # a signal handler or a finaliser evaluated meanwhile
    known.leave(sources)
    ledger.evaluation(reason)
    if known.direct is not None and not known.ends(sources) and launch(known, sources, targets):
        return True
    run = run_of(known.plan, sources, settings.backend, known.uses_of(sources))
    run_plan(run, known.outputs_of(sources, targets), known.wanted)
    if known.direct is None and not known.indirect:
        known.prepare(settings.backend)
    return True


def launch(known: Recalled, sources: list[Any], targets: list[Node]) -> bool:
    """True if an evaluation's one kernel was launched without a run, and its outputs have their values."""
    direct: AnyDirect | None = known.direct
    if direct is None or direct.backend is not settings.backend or settings.progress or ledger.is_attended():
        return False
    outputs = known.outputs_of(sources, targets)
    enter()
    try:
        values = direct.launch(sources, direct.numbers(sources))
    except BaseException as error:
        error.add_note(where(outputs))
        raise
    finally:
        leave()
    if values is None:
        known.direct = None
        known.indirect = True
        return False
    made = (known.plan, sites_of(sources), known.wanted)
    for place in range(len(outputs)):
        node: Node = outputs[place]
        if is_pending(node):
            node.made = made
            settle(node, values[place])
    return True


def stands_alone(known: Recalled, sources: list[Any], targets: list[Node]) -> bool:
    """True if nothing of what is pending beside an evaluation that came before is computed along with it."""
    closure = known.nodes_of(sources)
    outside = others(targets)
    return not (known.reduces and companions(closure, outside)) and not (
        known.writes and readers_first(closure, outside)
    )


def came_before(targets: list[Node], reason: str) -> bool:
    """True if an evaluation on a device was queued as it was before (`runtime/repeated.py`): nothing is left to do."""
    if not _repeats:
        return False
    first = targets[0]
    ways = _repeats.get(first.key)
    if ways is None or ledger.is_attended() or shadows or settings.progress or _changes.nbytes >= HELD_UNSEEN:
        return False
    known: Repeat
    for known in ways:
        if known.reduces and len(_tape) != known.length:
            continue  # what is small may be computed along
        nodes = known.match(targets)
        if nodes is None:
            continue
        enter()
        try:
            made = known.queue(nodes)
        except MemoryError:
            made = None
        finally:
            leave()
        if made is None:
            return False
        ledger.evaluation(reason)
        known.settle(nodes, made)
        _changes.count += len(made)
        if len(_tape) == known.length:
            _tape.clear()
            _pinned.clear()
        else:
            prune()
        return True
    return False


def prune() -> None:
    """Takes what is evaluated or gone off the tape."""
    kept: list[Any] | None = None
    for entry in _tape:
        node = referent(entry)
        if node is not None and is_pending(node):
            if kept is None:
                kept = []
            kept.append(entry)
    if kept is not None:
        _tape[:] = kept
    else:
        _tape.clear()
        _pinned.clear()


def evaluate_pending(targets: list[Node], reason: str, alone: bool = False) -> None:
    """`evaluate` for nodes that have no data. No reference to a node outlives the call."""
    backend = settings.backend
    if backend is None:
        backend = settings.work_out()
    while True:
        before = _changes.count
        if len(targets) != 1 or not is_pending(targets[0]):
            targets = [node for node in targets if is_pending(node)]
            if not targets:
                return
        noted: list[Any] | None = None
        if settings.home and not (_seen.any or shadows or settings.exact):
            first = targets[0]
            ways = _recalled.get(first.key)
            if ways is not None:
                if recall(ways, targets, reason, alone):
                    return
                # One that is not recalled because others may be computed along is known already.
                noted = [] if alone or _changes.nbytes < HELD_UNSEEN else None
        try:
            outputs, uses, signature, sources, wanted = expression_for(targets, alone, reason == BUDGET, noted)
        except Exception:
            if _changes.count == before:
                raise
        # Else a signal handler or a finaliser evaluated meanwhile: part of this is of before it, part of after.
        if _changes.count == before:
            break
    ledger.evaluation(reason)
    device = None
    if (not settings.home or _seen.any) and backend.name != "numpy":
        device = placement(there(sources))
    if device is not None:
        if shadows:
            fetch([source for source in sources if type(source) is Node], reason)
        checks = [check for shadow in shadows if (check := shadow(signature, sources)) is not None]
        run = run_there(plan_of(signature, device=True), sources, device, uses)
        if not uses and repeated.is_queued_whole(run):
            run.memo = {"states": repeated.states_of(sources)}
        run_plan(run, outputs, wanted)
        if run.memo is not None:
            repeated.learn(signature, run, outputs, wanted[0], outputs[0].made)
        if checks:
            fetch(outputs, reason)
        for check in checks:
            check([node.data for node in outputs])
    elif backend.name == "numpy":
        interpret_nodes(outputs, signature, sources, reason)
    else:
        known = first_evaluations().tried(signature, settings.tries) if is_tried(signature) else None
        if known is not None and not shadows and ran_first(known, sources, outputs, uses):
            return
        checks = [check for shadow in shadows if (check := shadow(signature, sources)) is not None]
        plan = plan_of(signature, drawn=None if known is None else known.drawn)
        _interpreted.planned = known
        if recalled.is_worth_learning(plan, targets[0].key) and noted:
            recalled.learn(plan, signature, sources, len(targets), wanted, noted, uses)
        run_plan(run_of(plan, sources, backend, uses), outputs, wanted)
        for check in checks:
            check([node.data for node in outputs])


def is_tried(signature: Signature) -> bool:
    """Whether NumPy may do an evaluation before kernels are there."""
    return bool(settings.tries) and not is_planned(signature)


_first: Any = None


def first_evaluations() -> Any:
    """The module `runtime/first.py`, which imports this one."""
    global _first
    if _first is None:
        from lazyarray.runtime import first as _first
    return _first


def ran_first(known: Any, sources: list[Any], outputs: list[Node], uses: dict[int, int]) -> bool:
    """True if NumPy has done the evaluation, because compiling would take longer (`runtime/first.py`).

    Never while somebody records what runs: who looks at a program wants to see its kernels.
    """
    if ledger.is_attended():
        return False
    if not known.takes():
        return False
    enter()
    try:
        told = first_evaluations().run(known, sources, outputs, uses)
    finally:
        leave()
    for node, bits in told or ():
        tell(node, bits)
    if told is not None:
        _interpreted.left = known.left
    return told is not None


def there(sources: list[Any]) -> list[Any]:
    """The nodes among the sources that have values on devices."""
    found: list[Any] = []
    for source in sources:
        if type(source) is Node:
            node: Node = source
            if node.remote is not None:
                found.append(node)
    return found


def expression_for(
    targets: list[Node], alone: bool, unasked: bool = False, noted: list[Any] | None = None
) -> tuple[list[Node], dict[int, int], Signature, list[Any], Wanted]:
    """What is to be evaluated with the targets: outputs, `uses` of `named_and_dear`, the signature and its sources, and
    why the outputs are among them.

    `unasked`: an expression may just be put together. `noted`: is told what `recalled.learn` asks for, if nothing else
    is computed along.
    """
    asked = along = read = len(targets)
    closure = pending_closure(targets)
    if not alone:
        outside = others(closure)
        small = companions(closure, outside) if outside and reduces(closure) else []
        readers = readers_first(closure, outside) if outside and writes(closure) else []
        holders = []
        if _changes.nbytes >= HELD_UNSEEN and not unasked:
            _changes.nbytes = 0
            holders = releasing(closure, outside)
        if small or readers or holders:
            targets = list(dict.fromkeys([*targets, *small]))
            along = len(targets)
            targets = list(dict.fromkeys([*targets, *readers]))
            read = len(targets)
            targets = list(dict.fromkeys([*targets, *holders]))
            closure = pending_closure(targets)
        outside = []  # references to nodes are counted now
    if noted is None or asked < len(targets):
        kept, uses = named_and_dear(closure, targets)
    else:
        visits = [node.visits for node in closure]
        kept, uses = named_and_dear(closure, targets)
        noted += [(closure[place].place, visits[place]) for place in range(len(closure))]
    if settings.home and not _seen.any:
        uses = uses_of_ending(closure, uses)
    outputs = [*targets, *kept]
    signature, sources = capture(closure, outputs)
    return outputs, uses, signature, sources, (asked, along, read, len(targets))


def evaluate_now(node: Node) -> None:
    """Evaluates an operation in NumPy where it is written, under NumPy's present error state."""
    from lazyarray.runtime.interpret import interpret

    with lock:
        ledger.evaluation(AT_ONCE)
        evaluate([arg for arg in node.args if type(arg) is Node], AT_ONCE, alone=True)
        signature, sources = capture([node], [node])
        (value,) = interpret(expression_of(signature), sources, now=True)
        settle(node, value)


def evaluate_unasked(nodes: list[Node], reason: str) -> None:
    """Evaluates nodes that nobody asks for now. What does not fit into memory is left to who asks for it."""
    nodes = [node for node in nodes if node not in too_large]
    try:
        evaluate(nodes, reason, stay=True)
    except MemoryError:
        for node in nodes:
            if is_pending(node):
                try:
                    evaluate([node], reason, True, True)
                except MemoryError:
                    too_large.add(node)


def settle_warnings(reason: str) -> None:
    """Evaluates the pending nodes that may warn."""
    if _tape and not running.here():
        with lock:
            evaluate_unasked([node for node in unused(pending()) if may_warn(node)], reason)
    if told_by and not running.here():
        with lock:  # no kernel is queued between its words being looked at and being handed out again
            tell_waiting()


def may_warn(node: Node) -> bool:
    """True when the node or anything pending that it needs may warn."""
    return any(wanted(needed) for needed in pending_closure([node]))


install(settle_warnings)
