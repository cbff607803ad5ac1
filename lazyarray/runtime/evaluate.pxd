# C's side of `evaluate.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node, Pinned
from lazyarray.runtime.along cimport is_pending, others, stands_apart
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.recalled cimport Recalled
from lazyarray.runtime.remote cimport Seen
from lazyarray.runtime.repeated cimport Repeat
from lazyarray.runtime.run cimport AnyDirect, AnyRun
from lazyarray.runtime.settling cimport Changes, hand_out, settle, sites_of

cdef class Settings:
    cdef public object backend
    cdef public bint away, exact, home, progress
    cdef public long changes, tries

    cpdef work_out(self)

cdef class Running:
    cdef public long depth
    cdef public unsigned long thread
    cdef public set apart

    cpdef bint here(self) except -1

cdef Ledger ledger
cdef Pinned _pinned
cdef list _tape, _under_way
cdef dict _recalled, _repeats
cdef Changes _changes
cdef Settings settings
cdef Running _running
cdef Seen _seen

cpdef evaluate(nodes, reason=*, bint alone=*, bint stay=*)
@cython.locals(absent=list, targets=list, away=list, node=Node)
cdef evaluate_locked(nodes, reason, bint alone, bint stay)
@cython.locals(node=Node, first=Node, known=Repeat, ways=list, nodes=list, made=list)
cdef bint came_before(list targets, reason) except -1
@cython.locals(known=Recalled, sources=list, before=cython.longlong, held=bint)
cdef bint recall(list ways, list targets, reason) except -1
@cython.locals(direct=AnyDirect, outputs=list, values=list, made=tuple, node=Node, place=Py_ssize_t)
cdef bint launch(Recalled known, list sources, list targets) except -1
@cython.locals(closure=list, outside=list)
cdef bint stands_alone(Recalled known, list sources, list targets) except -1
@cython.locals(kept=list, node=Node)
cpdef prune()
@cython.locals(outputs=list, sources=list, ways=list, node=Node, first=Node)
cpdef evaluate_pending(list targets, reason, bint alone=*)
@cython.locals(node=Node, asked=Py_ssize_t, along=Py_ssize_t, read=Py_ssize_t, closure=list, outside=list, outputs=list, small=list, readers=list, holders=list, sources=list)
cpdef tuple expression_for(list targets, bint alone, bint unasked=*, list noted=*)
@cython.locals(finished=bint)
cpdef run_plan(AnyRun run, list outputs, tuple wanted)
@cython.locals(node=Node, found=list)
cdef list there(list sources)
cdef AnyRun run_there(plan, list sources, device, uses)
