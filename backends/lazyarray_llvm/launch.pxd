# C's side of `launch.py`.
cimport cython

from lazyarray.native.launches cimport run_alone
from lazyarray.runtime.run cimport AnyLauncher, AnyRun
from lazyarray_llvm.workers cimport Chosen, Workers

cdef Chosen _chosen

cdef class Step:
    cdef public object call
    cdef public size_t function
    cdef public Py_ssize_t grain, shares, tasks

cdef class Launch:
    cdef public object pool, flags, pointers, _block, _keeps, _signature
    cdef public bint _plain_numbers
    cdef public list _masks, _steps
    cdef public size_t _arguments
    cdef public Py_ssize_t reserved, _first, _numbers, _raised, _ran, _stream
    cdef public Workers _workers
    cdef unsigned long long[:] _slots
    cdef double[:] _doubles

    @cython.locals(slots=cython.ulonglong[:], doubles=double[:], at=Py_ssize_t, place=Py_ssize_t)
    cpdef rebind(self, list pointers, list scalars)
    cpdef stream(self, bint wanted)
    cpdef watched_by(self, AnyRun run)
    cpdef bint ran(self) except -1
    @cython.locals(step=Step)
    cpdef run(self)
    @cython.locals(raised=cython.ulonglong)
    cpdef seen(self)

cdef class Launcher(AnyLauncher):
    cdef public object _extents, _past, _program, _strides, _told
    cdef public list _idle, _watching

    @cython.locals(ready=Launch)
    cpdef launch(self, list pointers, list scalars, AnyRun run=*)
    @cython.locals(ready=Launch)
    cpdef watch(self, list pointers, list scalars, AnyRun run=*)
    @cython.locals(ready=Launch)
    cdef Launch _ready(self, list idle, list pointers, list scalars, bint watched)
