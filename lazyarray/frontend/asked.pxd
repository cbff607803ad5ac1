# C's side of `asked.py`.
from cpython.object cimport PyObject, PyTypeObject

from lazyarray.frontend.callables cimport Served
from lazyarray.frontend.quick cimport KINDS, Fields, Known, Limits, known, limits
from lazyarray.frontend.vectors cimport PyObject_Vectorcall, PyVectorcall_NARGS, Py_TYPE, choosing, lazyarray_is_call, lazyarray_quiet
from lazyarray.native.primitives cimport size_of_memory

cdef extern from *:
    PyObject *PyObject_Call(PyObject *function, PyObject *args, PyObject *named) except NULL
    bint PyDict_CheckExact(PyObject *item)
    bint PyTuple_CheckExact(PyObject *item)
    PyObject *Py_None


# Whether an operand has nothing to say: an array of lazyarray's or NumPy's, or a number.
cdef inline bint says_nothing(PyObject *item) except -1:
    cdef PyTypeObject *kind = Py_TYPE(item)
    if kind == <PyTypeObject *>known.array or kind == <PyTypeObject *>known.memory:
        return True
    return <object>kind in KINDS


# `__array_ufunc__`: a small array, with numbers and arrays beside it. The source has lazyarray's ufuncs by NumPy's.
cdef inline PyObject *asked_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef size_t given = PyVectorcall_NARGS(flags), place
    cdef PyObject *data  # borrowed: who counts references is to find the array's alone
    cdef object found
    if (
        names == NULL and 4 <= given <= 5 and Py_TYPE(args[0]) == <PyTypeObject *>known.array
        and Py_TYPE(args[1]) == <PyTypeObject *>own.inner and lazyarray_is_call(args[2])
    ):
        data = <PyObject *>(<Fields>args[0])._np
        if data != Py_None and size_of_memory(<object>data) < limits.eager:
            for place in range(3, given):
                if not says_nothing(args[place]):
                    break
            else:
                found = (<dict>own.source).get(<object>args[1])
                if found is not None:
                    return PyObject_Vectorcall(<PyObject *>found, args + 3, given - 3, NULL)
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


# Whether there is nothing to find out about the arguments: arrays, alone or in lists, and numbers and their like.
cdef inline bint is_simple(items) except -1:
    for item in items:
        if not says_nothing(<PyObject *>item) and not lazyarray_quiet(Py_TYPE(<PyObject *>item)):
            return False
    return True


cdef inline bint are_simple(tuple args, dict options) except -1:
    cdef bint found = False
    for item in args:
        if type(item) is list or type(item) is tuple:
            if not is_simple(item):
                return False
            found = True
        elif type(item) is known.array:
            found = True
        elif not is_simple((item,)):
            return False
    return found and is_simple(options.values())


# `__array_function__`: arrays of lazyarray's and NumPy's. The source has lazyarray's functions by NumPy's, once called.
cdef inline PyObject *asked_function_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef object found
    if (
        names == NULL and PyVectorcall_NARGS(flags) == 5 and Py_TYPE(args[1]) == <PyTypeObject *>own.inner
        and PyTuple_CheckExact(args[2]) and PyTuple_CheckExact(args[3]) and PyDict_CheckExact(args[4])
    ):
        found = (<dict>own.source).get(<object>args[1])
        if found is not None and are_simple(<tuple><object>args[3], <dict><object>args[4]):
            for kind in <tuple><object>args[2]:
                if kind is not known.array and kind is not known.memory:
                    break
            else:
                return PyObject_Call(<PyObject *>found, args[3], args[4])
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


# What is asked about is of the class `kind`; others may have no hash.
cdef inline asking(function, ufuncs, kind):
    return choosing(function, ufuncs, kind, <void *>asked_vector)


cdef inline asking_functions(function, functions, kind):
    return choosing(function, functions, kind, <void *>asked_function_vector)
