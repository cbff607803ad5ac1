# C's side of `execute.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node
from lazyarray.native.primitives cimport address_of, count
from lazyarray.runtime.ledger cimport Ledger

cdef Ledger ledger

cdef class BoundLauncher:
    cdef public object extents, program, strides

cdef class Ready:
    cdef public object backend, launcher, step, name, ops, loaded, stored
    cdef public bint blind, raising, rewrites
    cdef public tuple offsets, origins, slots, writes

cdef class Run:
    cdef public object plan, backend, uses
    cdef public list sources, memory, raised
    cdef public set done
    cdef public dict taken

    @cython.locals(place=Py_ssize_t, slot=Py_ssize_t, steps=tuple, frees=tuple)
    cpdef run(self)
    cpdef array(self, Py_ssize_t slot)
    cpdef make(self, Py_ssize_t slot)
    cpdef kernel(self, step)
    @cython.locals(slot=Py_ssize_t, at=Py_ssize_t, memory=list, pointers=list, scalars=list, ready=Ready)
    cpdef launch(self, step)
    @cython.locals(scalars=list)
    cpdef list numbers(self, Ready ready)
    cpdef launch_watched(self, Ready ready, list pointers, list scalars)
