# C's side of `lending.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits, wrapped
from lazyarray.native.parts cimport read_at
from lazyarray.native.primitives cimport address_of, element_of, most_selected, picked_by, put_element
from lazyarray.native.primitives cimport remember, same_memory, selected_by, size_of_memory
from lazyarray.runtime.root cimport Root

cdef type _nparray
cdef Py_ssize_t _LARGEST

@cython.locals(base=Root)
cdef _seen(Fields array)
@cython.locals(base=Root)
cdef _written(Fields array)
cpdef peek(Fields array, key)
cpdef pick(Fields array, Fields key)
@cython.locals(given=Fields)
cpdef bint put_picked(Fields array, Fields key, value)
cpdef bint poke(Fields array, key, value)
@cython.locals(base=Root)
cpdef lend(Fields array, key)
@cython.locals(result=Fields)
cdef _note(Root base, found)
@cython.locals(base=Root)
cpdef bint overwrite(Fields array, key, value)
cpdef take_back(Fields array, Root base)
