# C's side of `shared.py`.
from cpython.object cimport PyObject, PyTypeObject

from lazyarray.frontend.callables cimport Served
from lazyarray.frontend.vectors cimport PyObject_Vectorcall, PyVectorcall_NARGS, Py_TYPE, choosing, lazyarray_total, taken


cdef inline PyObject *shared_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    if PyVectorcall_NARGS(flags) and Py_TYPE(args[0]) == <PyTypeObject *>own.inner:
        return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)
    return PyObject_Vectorcall(<PyObject *>own.source, args, flags, names)


cdef inline sharing(own, others, kind):
    return choosing(own, others, kind, <void *>shared_vector)


cdef inline PyObject *knowing_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef size_t place
    for place in range(1, lazyarray_total(PyVectorcall_NARGS(flags), names)):
        if args[place] == <PyObject *>own.inner or Py_TYPE(args[place]) == <PyTypeObject *>own.inner:
            return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)
    return PyObject_Vectorcall(<PyObject *>own.source, args, flags, names)


cdef inline knowing(function, source, kind):
    return choosing(function, source, kind, <void *>knowing_vector)


cdef inline PyObject *wrapping_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef PyObject *found = PyObject_Vectorcall(<PyObject *>(<Served>self).source, args, flags, names)
    return NULL if found == NULL else taken(found, False)


cdef inline wrapping(own, source):
    return choosing(own, source, None, <void *>wrapping_vector)
