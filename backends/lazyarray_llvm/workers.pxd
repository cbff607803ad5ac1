# C's side of `workers.py`.
from lazyarray.native.launches cimport run_shared, tell
from lazyarray.runtime.resting cimport AnyWorkers

cdef class Workers(AnyWorkers):
    cdef public object run
    cdef public size_t address, entry, word

    cpdef forget(self)
    cpdef share(
        self, size_t function, size_t arguments, Py_ssize_t tasks, Py_ssize_t grain, Py_ssize_t shares, Py_ssize_t first
    )
    cpdef rest(self)

cdef class Chosen:
    cdef public object pool
