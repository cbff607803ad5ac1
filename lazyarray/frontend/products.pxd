# C's side of `products.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits, managed, operand_of, record_node, wrapped
from lazyarray.frontend.regions cimport short_product
from lazyarray.ir.node cimport Key, Node, Spec
from lazyarray.native.products cimport run_product
from lazyarray.native.primitives cimport site_outside, size_of_memory
from lazyarray.runtime.along cimport is_pending
from lazyarray.runtime.resting cimport rest

cdef type _nparray
cdef Py_ssize_t _LONG_CALL

cpdef multiply(Fields x, Fields y)
@cython.locals(key=Key, short=bint, left=Node, right=Node)
cpdef again(Fields x, Fields y)
cdef bint _is_large_memory(Fields array)
cdef bint _lies_nowhere(Fields array)
cdef Node _operand(Fields array, site)
