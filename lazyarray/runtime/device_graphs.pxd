# C's side of `device_graphs.py`.
cimport cython

from lazyarray.ir.node cimport Node, Spec
from lazyarray.runtime.device_errors cimport Log
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.remote cimport Remote, reserve, share
from lazyarray.runtime.floating cimport are_told_so, hand_over

cdef Ledger ledger

cdef class Graph:
    cdef public object launch, tolds
    cdef public Log log
    cdef public Py_ssize_t nbytes
    cdef public list keeps, firsts, notes
    cdef object __weakref__

cdef class Graphs:
    cdef object _plan
    cdef dict _graphs, _heirs, _made, _seen
    cdef list _specs, _ways
    cdef bint _plain
    cdef Py_ssize_t _awaited, _calls, _launches, _misses, _runs, _reads, _taken, _writes
    cdef tuple _claims, _inputs, _kernels, _numbers, _outputs, _raising

    @cython.locals(graph=Graph, key=list, asked=list, roots=dict, free=dict)
    cpdef bint take(self, run) except? False
    @cython.locals(graph=Graph, key=list, made=list, remote=Remote, spec=Spec, ways=dict, notes=list)
    cpdef list again(self, list given, device, dict memo)
    @cython.locals(raising=list)
    cdef list _notes(self, Graph graph, list asked)
    cdef Graph _new(self, run, found, dict free, list asked)
    cdef bint _is_taken_over(self, run, step) except? False
    cdef dict _roots(self, dict free)
    @cython.locals(key=list, memory=list, sources=list, node=Node, remote=Remote, slot=Py_ssize_t, root=Py_ssize_t)
    cdef list _key(self, run, dict roots)
