# C's side of `execute.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node
from lazyarray.native.primitives cimport address_of, count, create
from lazyarray.native.leases cimport stands_alone
from lazyarray.runtime.floating cimport wanted
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.recovery cimport Uninterrupted, forget_old, writes_over
from lazyarray.runtime.run cimport AnyLauncher, AnyRun, numbers_of

cdef Ledger ledger
cdef Uninterrupted _uninterrupted

cdef class BoundLauncher(AnyLauncher):
    cdef public object extents, program, strides

cdef class Ready:
    cdef public AnyLauncher launcher
    cdef public object backend, program, step, name, ops, loaded, stored
    cdef public bint adds, blind, raising, rewrites
    cdef public tuple offsets, origins, read, slots, writes

cdef class Layout:
    cdef public tuple dtypes, frees, heirs, nbytes, origins, outputs, shapes, steps
    cdef public list readies
    cdef public dict bands
    cdef public bint foreseen
    cdef public Layout kin

cpdef Layout layout_of(plan)

cdef class Run(AnyRun):
    cdef public object backend
    cdef public Layout layout

    @cython.locals(place=Py_ssize_t, slot=Py_ssize_t, layout=Layout)
    cpdef run(self)
    cpdef step(self, Py_ssize_t place)
    cpdef source(self, Py_ssize_t slot)
    @cython.locals(node=Node)
    cpdef array(self, Py_ssize_t slot)
    @cython.locals(layout=Layout, nbytes=Py_ssize_t)
    cpdef make(self, Py_ssize_t slot)
    cpdef kernel(self, Py_ssize_t place, step)
    cpdef inherit(self)
    cdef watching(self)
    @cython.locals(node=Node)
    cpdef bint ends(self, Py_ssize_t slot) except -1
    cpdef bint is_free(self, Py_ssize_t slot) except -1
    @cython.locals(slot=Py_ssize_t, memory=list, pointers=list, scalars=list, ready=Ready)
    cpdef launch(self, Py_ssize_t place, step)
    @cython.locals(ready=Ready)
    cpdef Ready ready_for(self, Py_ssize_t place, step)
    @cython.locals(slot=Py_ssize_t, at=Py_ssize_t, memory=list, found=list)
    cpdef list pointers(self, Ready ready)
    @cython.locals(launcher=AnyLauncher)
    cpdef launch_watched(self, Ready ready, list pointers, list scalars)
    @cython.locals(node=Node, found=list)
    cpdef list wanted_nodes(self, step)
    @cython.locals(memory=list, slot=Py_ssize_t, other=Py_ssize_t)
    cpdef bint in_place(self, Ready ready) except -1

@cython.locals(run=Run, layout=Layout)
cpdef Run new_run(plan, list sources, backend, uses)
