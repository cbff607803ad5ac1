# C's side of `remote.py`.
from lazyarray.ir.node cimport Spec
from lazyarray.native.primitives cimport create


cdef class Remote:
    cdef public object _array, _memory, address, device
    cdef public Spec _spec
    cdef public bint exported, home


cpdef Remote reserve(device, Spec spec)
