# C's side of `direct.py`.
cimport cython

from lazyarray.ir.node cimport Node
from lazyarray.native.primitives cimport address_of
from lazyarray.runtime.execute cimport Ready
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.pool cimport reserve
from lazyarray.runtime.run cimport AnyDirect, numbers_of

cdef Ledger _ledger

cdef class Direct(AnyDirect):
    cdef public Ready ready
    cdef list _results
    cdef tuple _walks
    cdef long long _allocated, _count, _loaded, _stored

    @cython.locals(made=list, pointers=list, ready=Ready, node=Node, at=Py_ssize_t, walk=Py_ssize_t)
    cpdef list launch(self, list values, list scalars)
    cpdef list numbers(self, list sources)
