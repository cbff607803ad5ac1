# C's side of `evaluate.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node, Pinned
from lazyarray.runtime.along cimport is_pending, others, stands_apart
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.recalled cimport Recalled
from lazyarray.runtime.remote cimport Seen
from lazyarray.runtime.repeated cimport Repeat
from lazyarray.runtime.run cimport AnyDirect, AnyRun
from lazyarray.runtime.running cimport Settings, enter, is_planned, leave, run_of, run_plan, run_there, settings
from lazyarray.runtime.settling cimport Changes, settle, sites_of

cdef class Interpreted:
    cdef public object given, left, planned

cdef Interpreted _interpreted
cdef Ledger ledger
cdef Pinned _pinned
cdef list _tape, _under_way
cdef dict _recalled, _repeats
cdef Changes _changes
cdef Seen _seen

cpdef evaluate(nodes, reason=*, bint alone=*, bint stay=*)
@cython.locals(absent=list, targets=list, away=list, node=Node)
cdef evaluate_locked(nodes, reason, bint alone, bint stay)
@cython.locals(node=Node, first=Node, known=Repeat, ways=list, nodes=list, made=list)
cdef bint came_before(list targets, reason) except -1
@cython.locals(known=Recalled, sources=list, before=cython.longlong, held=bint)
cdef bint recall(list ways, list targets, reason, bint alone) except -1
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
@cython.locals(node=Node, found=list)
cdef list there(list sources)
