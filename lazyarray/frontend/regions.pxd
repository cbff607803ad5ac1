# C's side of `regions.py`.
cimport cython

from lazyarray.frontend.measures cimport elements_of, shape_of
from lazyarray.frontend.quick cimport Fields, Limits, limits
from lazyarray.ir.node cimport Node
from lazyarray.native.parts cimport show_at
from lazyarray.native.primitives cimport size_of_memory
from lazyarray.runtime.root cimport Root

cdef Py_ssize_t _OF_PRODUCT, _SHORT_PRODUCT, _SHORT_RESULT

@cython.locals(node=Node, base=Root)
cpdef window(Fields array)
cpdef show(view, data)
@cython.locals(node=Node, base=Root)
cpdef memory_at(Fields array)
@cython.locals(node=Node, base=Root)
cdef bint _is_remote(Fields array)
@cython.locals(shape=tuple, length=Py_ssize_t, rows=Py_ssize_t, columns=Py_ssize_t)
cpdef short_product(Fields x, Fields y)
cdef _memory_here(Fields array)
@cython.locals(part=Fields, base=Root, size=Py_ssize_t, length=Py_ssize_t)
cdef bint _is_multiplied_again(Fields x, Fields y) except -1
cpdef bint is_short(Py_ssize_t rows, Py_ssize_t length, Py_ssize_t columns) except -1
