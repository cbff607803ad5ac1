# C's side of `jit.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Limits, limits, managed, turned, wrapped
from lazyarray.ir.node cimport Key, Node, Spec
from lazyarray.native.primitives cimport holds_in_c_order
from lazyarray.runtime.direct cimport Direct
from lazyarray.runtime.running cimport Settings, settings
from lazyarray.runtime.execute cimport Run
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.remote cimport Seen

cdef Ledger ledger
cdef Seen _seen

cdef class Trace:
    cdef public object backend, device, orders, outputs, plan, shape
    cdef public bint exact
    cdef public list arguments, keys, numbers, raising, scalars, sources
    cdef public dict memo
    cdef public tuple specs
    cdef public Direct direct

    @cython.locals(direct=Direct, array=Fields, node=Node, argument=Py_ssize_t, values=list)
    cpdef launch(self, list arrays)
    @cython.locals(array=Fields, node=Node, given=list, read=list, place=Py_ssize_t, memo=dict)
    cpdef launch_there(self, list arrays, device)
    @cython.locals(node=Node, at=Py_ssize_t, found=list)
    cpdef answer_there(self, list made)
    @cython.locals(key=Key, node=Node, at=Py_ssize_t, found=list)
    cpdef answer_of(self, list made)
    cpdef given(self, list found)
    cpdef replay(self, list arguments)

@cython.locals(node=Node)
cdef _spec_of(Fields array)

@cython.locals(at=Py_ssize_t)
cdef bint _is_of(tuple arguments, tuple specs) except -1

cdef class Jitted:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object function
    cdef public frozenset static
    cdef public list misses
    cdef dict _traces
    cdef Trace _last

    @cython.locals(key=list, arrays=list, arrays_alone=bint, known=Trace, last=Trace)
    cpdef call(self, tuple args, dict kwargs)
