# C's side of `pauses.py`.
cimport cython

cdef class Pause:
    cdef public long left, place

cdef dict _pauses

cpdef pause(site, turns)
@cython.locals(own=Pause)
cpdef bint is_paused(tuple site) except -1
