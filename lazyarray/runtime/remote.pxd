# C's side of `remote.py`.
cimport cython

from lazyarray.ir.node cimport Spec
from lazyarray.native.primitives cimport create


cdef class Seen:
    cdef public bint any
    cdef public int home
    cdef public object backend, kind

cdef Seen _seen
cdef int _UNKNOWN

@cython.locals(home=int)
cpdef bint stays_home() except -1

cdef class Remote:
    cdef public object _array, _memory, address, device
    cdef public Spec _spec
    cdef public bint exported, home


@cython.locals(made=Remote, found=tuple)
cpdef Remote reserve(device, Spec spec)

@cython.locals(made=Remote)
cpdef Remote share(Remote remote, Spec spec)
