# C's side of `blocks.py`.
cimport cython

cdef class Owner:
    cpdef take_back(self, Block block)

cdef class Block:
    cdef public Owner owner
    cdef public Block after, before
    cdef public object memory
    cdef public Py_ssize_t address, offset, region, size, start, warm
    cdef public bint idle

cdef class Returned:
    cdef list _blocks

    @cython.locals(block=Block)
    cpdef Py_ssize_t put(self, Block block)
    @cython.locals(block=Block, at=Py_ssize_t, blocks=list)
    cpdef Block take(self, Py_ssize_t size)
    cpdef Block first(self)

cdef class Shelves:
    cdef public Py_ssize_t idle
    cdef list _sizes
    cdef dict _by_age, _by_size

    @cython.locals(block=Block)
    cpdef Block take(self, Py_ssize_t size, Py_ssize_t number)
    @cython.locals(before=Block, after=Block)
    cpdef put(self, Block block)
    @cython.locals(block=Block)
    cpdef list drop(self, Py_ssize_t keep)
    cdef _add(self, Block block)
    cdef _remove(self, Block block)

@cython.locals(step=Py_ssize_t)
cpdef Py_ssize_t size_class(Py_ssize_t nbytes)
