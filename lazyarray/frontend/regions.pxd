# C's side of `regions.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Limits, limits
from lazyarray.ir.node cimport Node
from lazyarray.native.direct cimport show_at
from lazyarray.runtime.root cimport Root

@cython.locals(node=Node, base=Root)
cpdef window(Fields array)
cpdef show(view, data)
@cython.locals(node=Node, base=Root)
cpdef memory_at(Fields array)
@cython.locals(node=Node, base=Root)
cdef bint _is_remote(Fields array)
cpdef short_product(Fields x, Fields y)
