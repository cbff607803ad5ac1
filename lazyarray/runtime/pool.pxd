# C's side of `pool.py`.
cimport cython

from lazyarray.runtime.blocks cimport Block, Owner, Returned, Shelves, size_class

cdef class MemoryPool(Owner):
    cdef object _lock
    cdef Returned _returned
    cdef Shelves _shelves
    cdef Py_ssize_t _allocations, _in_use, _max_idle, _peak, _reuses

    @cython.locals(block=Block)
    cpdef lend(self, tuple shape, dtype, Py_ssize_t nbytes, strides)
    @cython.locals(block=Block, found=Block, size=Py_ssize_t, most=Py_ssize_t)
    cdef Block _take(self, Py_ssize_t nbytes)
    cpdef take_back(self, Block block)
    cdef bint _writes_here(self)
    @cython.locals(block=Block, returned=Returned, shelves=Shelves)
    cdef list _collect(self, Py_ssize_t keep)

@cython.locals(pool=MemoryPool)
cpdef reserve(shape, dtype, nbytes)
