# C's side of `updates.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Limits, limits, record_node
from lazyarray.ir.node cimport Key, Node, Spec
from lazyarray.native.primitives cimport site_outside

cdef dict _UNDER_MASKS
cdef long _CHAIN

@cython.locals(root=Node, mask=Node, spec=Spec, update=Key)
cpdef bint put_under_mask(Fields array, Fields over, new) except -1
@cython.locals(written=Node)
cdef bint _is_chain(Node root) except -1
