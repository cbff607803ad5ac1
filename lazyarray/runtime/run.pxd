# C's side of `run.py`.
cimport cython

@cython.locals(scalars=list, at=Py_ssize_t)
cpdef list numbers_of(tuple origins, list sources)

cdef class AnyLauncher:
    cpdef launch(self, list pointers, list scalars, AnyRun run=*)
    cpdef watch(self, list pointers, list scalars, AnyRun run=*)

cdef class AnyDirect:
    cdef public object backend

    cpdef list launch(self, list values, list scalars)
    cpdef list numbers(self, list sources)

cdef class AnyRun:
    cdef public bint caught_up
    cdef public object launched, over, plan, uses
    cdef public list sources, memory, raised
    cdef public set done
    cdef public dict taken
    cdef public tuple outputs

    cpdef begin(self, plan, list sources, uses, Py_ssize_t slots, tuple outputs)
    cpdef run(self)
