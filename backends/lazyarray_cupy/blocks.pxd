# C's side of `blocks.py`.
cimport cython

from lazyarray.native.primitives cimport create

cdef class Blocks

cdef class Block:
    cdef list _home
    cdef tuple _memory
    cdef Py_ssize_t _size
    cdef Blocks _store

    cpdef lend(self)

cdef class Blocks:
    cdef object _current, _fresh
    cdef dict _homes
    cdef public Py_ssize_t kept
    cdef public bint closed

    @cython.locals(size=Py_ssize_t, home=list, memory=tuple, block=Block)
    cpdef tuple allocate(self, Py_ssize_t nbytes)
    @cython.locals(home=list)
    cpdef clear(self)
    cpdef close(self)
