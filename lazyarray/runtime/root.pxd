# C's side of `root.py`.
from lazyarray.ir.node cimport Node, Spec


cdef class Root:
    cdef public Spec spec
    cdef public Node node
    cdef public object memory, owner
    cdef public bint pinned, fixed, lends
    cdef public long peeks
    cdef public list lent
