# C's side of `launch.py`.
cimport cython

from lazyarray.runtime.run cimport AnyRun

cdef class Launch:
    cdef public object pool, flags, pointers, _arguments, _block, _keeps, _signature, _steps
    cdef public Py_ssize_t reserved, _first, _raised, _ran, _stream
    cdef unsigned long long[:] _slots
    cdef double[:] _doubles

    @cython.locals(slots=cython.ulonglong[:], doubles=double[:], at=Py_ssize_t, place=Py_ssize_t)
    cpdef rebind(self, list pointers, list scalars)
    cpdef stream(self, bint wanted)
    cpdef watched_by(self, AnyRun run)
    cpdef bint ran(self) except -1
    cpdef run(self)
    @cython.locals(raised=cython.ulonglong)
    cpdef seen(self)

cdef class Launcher:
    cdef public object _extents, _past, _program, _strides, _told
    cdef public list _idle, _watching

    @cython.locals(ready=Launch)
    cpdef launch(self, list pointers, list scalars, AnyRun run=*)
    @cython.locals(ready=Launch)
    cpdef watch(self, list pointers, list scalars, AnyRun run=*)
    @cython.locals(ready=Launch)
    cdef Launch _ready(self, list idle, list pointers, list scalars, bint watched)
