# C's side of `slices.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits
from lazyarray.ir.node cimport Node, Spec
from lazyarray.native.primitives cimport bounds_of
from lazyarray.native.recycled cimport reused
from lazyarray.runtime.root cimport Root

cdef Py_ssize_t _MOST_AXES

@cython.locals(
    node=Node, base=Root, spec=Spec, shape=tuple, strides=tuple, extent=Py_ssize_t, stride=Py_ssize_t, offset=Py_ssize_t,
    start=Py_ssize_t, step=Py_ssize_t, count=Py_ssize_t,
)
cpdef slice_at(Fields array, key)
@cython.locals(
    node=Node, base=Root, spec=Spec, shape=tuple, strides=tuple, extent=Py_ssize_t, stride=Py_ssize_t, offset=Py_ssize_t,
    start=Py_ssize_t, step=Py_ssize_t, count=Py_ssize_t, rank=Py_ssize_t, given=Py_ssize_t, place=Py_ssize_t, rest=Py_ssize_t,
    there=bint, left=list, steps=list,
)
cpdef view_at(Fields array, tuple key)
@cython.locals(node=Node, spec=Spec, shape=tuple, strides=tuple)
cpdef turned(Fields array)
@cython.locals(result=Fields)
cdef _shown(Root base, view, part, fixed)
