# C's side of `device_run.py`.
cimport cython

from lazyarray.ir.node cimport Node
from lazyarray.native.primitives cimport count
from lazyarray.runtime.floating cimport are_told_so, hand_over, wanted
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.remote cimport Remote, reserve
from lazyarray.runtime.run cimport AnyRun, numbers_of

cdef Ledger ledger

cdef class Ready:
    cdef public object launcher, loaded, name, ops, refused, stored
    cdef public tuple offsets, origins, slots, writes
    cdef public list notes, tolds, watching
    cdef public Py_ssize_t words

cdef class DeviceRun(AnyRun):
    cdef public object device, free, flags, memo
    cdef public bint listening
    cdef public dict readies
    cdef public list specs

    cpdef step(self, step)
    cpdef Remote value(self, Py_ssize_t slot)
    cpdef Remote make(self, Py_ssize_t slot)
    cpdef Ready ready(self, step)
    @cython.locals(slot=Py_ssize_t, place=Py_ssize_t, pointers=list, bases=list, scalars=list, memory=list, ready=Ready, remote=Remote)
    cpdef kernel(self, step)
    @cython.locals(found=list, sources=list, place=Py_ssize_t, node=Node)
    cpdef list asked(self, Ready ready)
    @cython.locals(asked=list, nodes=list)
    cpdef watched(self, step, Ready ready)
