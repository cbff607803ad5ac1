# C's side of `workers.py`.
from lazyarray.native.launches cimport run_shared

cdef class Workers:
    cdef public object run
    cdef public size_t address, entry

    cpdef forget(self)
    cpdef share(
        self, size_t function, size_t arguments, Py_ssize_t tasks, Py_ssize_t grain, Py_ssize_t shares, Py_ssize_t first
    )

cdef class Chosen:
    cdef public object pool
