# C's side of `measures.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Limits, limits, wrapped
from lazyarray.frontend.unusual cimport Keys, keys
from lazyarray.native.primitives cimport size_of_memory

@cython.locals(data=object)
cpdef ndim_of(Fields array)
cpdef shape_of(Fields array)
cpdef elements_of(Fields array)
cpdef transposed(Fields array)
cpdef copied(Fields array, order=*)
