# C's side of `settling.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node
from lazyarray.runtime.along cimport is_pending
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.run cimport AnyRun

cdef class Changes:
    cdef public long long count, nbytes

cdef Ledger ledger
cdef Changes _changes

@cython.locals(node=Node, found=list, place=Py_ssize_t)
cpdef tuple sites_of(list sources)
@cython.locals(taken=list, node=Node, slots=tuple, slot=Py_ssize_t, place=Py_ssize_t)
cdef hand_out(AnyRun run, list outputs, tuple wanted, bint finished)
cdef unshared(value, list taken)
cpdef settle(Node node, value)
