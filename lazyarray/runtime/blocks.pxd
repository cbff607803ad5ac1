# C's side of `blocks.py`.
cimport cython

cdef class Block:
    cdef public object after, before, memory, owner
    cdef public Py_ssize_t address, offset, region, size, start, warm
    cdef public bint idle

cdef class Returned:
    cdef list _blocks

    @cython.locals(block=Block)
    cpdef Py_ssize_t put(self, Block block)
    @cython.locals(block=Block, at=Py_ssize_t, blocks=list)
    cpdef Block take(self, Py_ssize_t size)
    cpdef Block first(self)

@cython.locals(step=Py_ssize_t, bits=int)
cpdef Py_ssize_t size_class(Py_ssize_t nbytes)
