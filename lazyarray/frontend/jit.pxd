# C's side of `jit.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Limits, limits, managed, wrapped
from lazyarray.ir.node cimport Key, Node
from lazyarray.native.primitives cimport address_of, holds_in_c_order
from lazyarray.runtime.execute cimport Ready, Run
from lazyarray.runtime.ledger cimport Ledger

cdef Ledger ledger

cdef class Trace:
    cdef public object backend, device, numerics, outputs, plan, shape
    cdef public list arguments, keys, numbers, raising, scalars, sources
    cdef public dict memo
    cdef public tuple walks, written
    cdef public Ready direct

    @cython.locals(ready=Ready, array=Fields, node=Node, key=Key, walk=Py_ssize_t, at=Py_ssize_t, place=Py_ssize_t, found=list, held=list, pointers=list)
    cpdef launch(self, list arrays)
    @cython.locals(array=Fields, node=Node, given=list, read=list, place=Py_ssize_t, memo=dict)
    cpdef launch_there(self, list arrays, device)
    @cython.locals(node=Node, at=Py_ssize_t, found=list)
    cpdef answer_there(self, list made)
    @cython.locals(key=Key, node=Node, at=Py_ssize_t, found=list)
    cpdef answer_of(self, list made)

@cython.locals(node=Node)
cdef _spec_of(Fields array)
