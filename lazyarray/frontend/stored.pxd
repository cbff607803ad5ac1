# C's side of `stored.py`.
cimport cython

from lazyarray.frontend.handle cimport is_basic
from lazyarray.frontend.quick cimport Fields, Key, Known, Limits, Node, known, limits, new_node
from lazyarray.frontend.waiting cimport Run, close, count_stored, lent, look_back
from lazyarray.ir.node cimport Spec, Waiting, spec_of
from lazyarray.native.primitives cimport address_of, part_of, referent, site_outside, thread_here, token_of, whole_of
from lazyarray.runtime.evaluate cimport Interpreted, evaluate


cdef Run _run
cdef Interpreted _interpreted
cdef Waiting _waiting
cdef dict _keys
cdef object _NEW
cdef int _MOST

cpdef bint put_waiting(Fields array, key, value) except -1
@cython.locals(node=Node, made=tuple)
cdef bint _is_to_be_stored(Fields value, tuple site) except -1
cdef bint _raises_warnings() except -1
@cython.locals(waits=Node, spec=Spec)
cdef _part_to_write(Fields array, key, Fields value)
@cython.locals(left=list, above=Node, below=Node, at=size_t)
cdef bint _reads(Node node, size_t begin, size_t size) except -1
@cython.locals(node=Node, made=Node, place=tuple)
cdef _store(Fields value, tuple found, tuple site)
