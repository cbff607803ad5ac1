# C's side of `slices.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits
from lazyarray.ir.node cimport Node, Spec
from lazyarray.ir.maps cimport map_at, map_turned
from lazyarray.native.recycled cimport reused
from lazyarray.runtime.root cimport Root

cdef object _map

@cython.locals(node=Node, base=Root, spec=Spec)
cpdef slice_at(Fields array, key)
cdef _show(Fields array, view)
@cython.locals(base=Root)
cpdef Root base_of(Fields array)
cpdef view_at(Fields array, tuple key)
@cython.locals(node=Node, base=Root, spec=Spec)
cdef _element_at(Fields array, tuple key)
@cython.locals(node=Node, base=Root)
cpdef turned(Fields array)
@cython.locals(result=Fields)
cpdef shown(Root base, view, part, fixed)
