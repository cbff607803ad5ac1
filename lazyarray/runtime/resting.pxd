# C's side of `resting.py`.
cimport cython


cdef class AnyWorkers:
    cpdef rest(self)

cdef class Resting:
    cdef public AnyWorkers workers

cdef Resting _resting

@cython.locals(workers=AnyWorkers)
cpdef rest()
