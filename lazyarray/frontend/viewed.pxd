# C's side of `viewed.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits
from lazyarray.frontend.slices cimport base_of, shown
from lazyarray.ir.node cimport Node, Spec
from lazyarray.runtime.root cimport Root

cpdef bint shows(source)
@cython.locals(node=Node, base=Root, spec=Spec)
cpdef layout_of(Fields array, tuple given, names)
cpdef view_again(dict views, Fields array, layout)
@cython.locals(view=Fields)
cpdef note_view(dict views, Fields array, layout, result)
