# C's side of `recovery.py`.
cimport cython

from lazyarray.native.primitives cimport thread_here
from lazyarray.runtime.run cimport AnyRun

cdef class Uninterrupted:
    cdef public long depth
    cdef public unsigned long thread

    cpdef begin(self)
    cpdef end(self)
    cpdef bint here(self) except -1

cpdef bint writes_over(AnyRun run, tuple writes) except -1
cpdef forget_old(AnyRun run, written)
