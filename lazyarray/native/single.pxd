# Functions on small arrays that are one loop of NumPy's and Python code around it, for `direct.pxd`: the loop alone. Where
# an error was raised, NumPy's code runs and tells it.
from cpython.object cimport PyObject

from lazyarray.native.folds cimport ufunc_of
from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    /* An array of numbers of NumPy's own, without gaps. */
    static int lazyarray_is_solid(PyArrayObject *a) {
        return lazyarray_is_line(a) && (PyArray_IS_C_CONTIGUOUS(a) || PyArray_STRIDE(a, 0) == PyArray_ITEMSIZE(a));
    }

    /* The ufunc's loop for the array's type, if it makes the same type. */
    static int lazyarray_find_single(PyObject *ufunc, PyArrayObject *a, lazyarray_loop *found) {
        *found = lazyarray_loop_of(ufunc, PyArray_TYPE(a));
        return found->loop && found->made == PyArray_TYPE(a);
    }

    /* Numbers between two numbers. */
    static PyObject *lazyarray_do_clip(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *clip = NULL;
        PyArrayObject *a = (PyArrayObject *)first;
        PyObject *ufunc = lazyarray_hidden_ufunc(&clip, "numpy._core.umath", "clip"), *made;
        lazyarray_loop chosen;
        npy_intp size, steps[4] = {0};
        double bounds[2][2];
        char *places[4];
        int k;
        (void)limit;
        if (!ufunc || count != 2 || !rest[0] || !lazyarray_is_solid(a) || !lazyarray_find_single(ufunc, a, &chosen)) return NULL;
        for (k = 0; k < 2; k++) {
            if (!(PyFloat_CheckExact(rest[k]) || PyLong_CheckExact(rest[k]))
                || lazyarray_number_as(rest[k], PyArray_TYPE(a), bounds[k]) < 0) return NULL;
            places[k + 1] = (char *)bounds[k];
        }
        if (!(made = lazyarray_new(PyArray_TYPE(a), PyArray_NDIM(a), PyArray_DIMS(a)))) return NULL;
        places[0] = PyArray_BYTES(a);
        places[3] = PyArray_BYTES((PyArrayObject *)made);
        size = PyArray_SIZE(a);
        steps[0] = steps[3] = PyArray_ITEMSIZE(a);
        lazyarray_forget_errors();
        (*chosen.loop)(places, &size, steps, chosen.data);
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS)) Py_CLEAR(made);
        return made;
    }

    /* Differences of neighbours along the only axis. */
    static PyObject *lazyarray_do_diff(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *subtract = NULL;
        PyArrayObject *a = (PyArrayObject *)first;
        PyObject *made;
        lazyarray_loop chosen;
        npy_intp size, steps[3];
        char *places[3];
        (void)rest, (void)limit;
        if (!subtract && !(subtract = lazyarray_ufunc_of("subtract"))) return NULL;
        if (count || PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) < 2 || !lazyarray_is_line(a)
            || !lazyarray_find_single(subtract, a, &chosen)) return NULL;
        size = PyArray_DIM(a, 0) - 1;
        if (!(made = lazyarray_new(PyArray_TYPE(a), 1, &size))) return NULL;
        steps[0] = steps[1] = PyArray_STRIDE(a, 0);
        steps[2] = PyArray_ITEMSIZE(a);
        places[0] = PyArray_BYTES(a) + steps[0];
        places[1] = PyArray_BYTES(a);
        places[2] = PyArray_BYTES((PyArrayObject *)made);
        lazyarray_forget_errors();
        (*chosen.loop)(places, &size, steps, chosen.data);
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS)) Py_CLEAR(made);
        return made;
    }

    /* Products of all pairs, row by row. */
    static PyObject *lazyarray_do_outer(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *multiply = NULL;
        PyArrayObject *a = (PyArrayObject *)first, *b;
        PyObject *made;
        lazyarray_loop chosen;
        npy_intp dims[2], steps[3] = {0}, row;
        char *places[3];
        if (!multiply && !(multiply = lazyarray_ufunc_of("multiply"))) return NULL;
        if (count != 1 || !PyArray_CheckExact(rest[0])) return NULL;
        b = (PyArrayObject *)rest[0];
        if (!lazyarray_is_solid(a) || !lazyarray_is_solid(b) || PyArray_DESCR(a) != PyArray_DESCR(b)
            || !lazyarray_find_single(multiply, a, &chosen)) return NULL;
        dims[0] = PyArray_SIZE(a);
        dims[1] = PyArray_SIZE(b);
        if (dims[0] * dims[1] >= limit || !(made = lazyarray_new(PyArray_TYPE(a), 2, dims))) return NULL;
        steps[1] = steps[2] = PyArray_ITEMSIZE(a);
        lazyarray_forget_errors();
        for (row = 0; row < dims[0]; row++) {
            places[0] = PyArray_BYTES(a) + row * steps[1];
            places[1] = PyArray_BYTES(b);
            places[2] = PyArray_BYTES((PyArrayObject *)made) + row * dims[1] * steps[1];
            (*chosen.loop)(places, &dims[1], steps, chosen.data);
        }
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS)) Py_CLEAR(made);
        return made;
    }

    /* The root of the sum of squares of all elements, which is a product of BLAS's in NumPy's code, too. */
    static PyObject *lazyarray_do_norm(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        int type = PyArray_TYPE(a);
        double value[2] = {0.0, 0.0};
        (void)rest, (void)limit;
        if (count || (type != NPY_DOUBLE && type != NPY_FLOAT) || !lazyarray_is_solid(a)) return NULL;
        lazyarray_forget_errors();
        PyDataType_GetArrFuncs(PyArray_DESCR(a))->dotfunc(
            PyArray_BYTES(a), PyArray_ITEMSIZE(a), PyArray_BYTES(a), PyArray_ITEMSIZE(a), value, PyArray_SIZE(a), NULL);
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS)) return NULL;
        if (type == NPY_DOUBLE) value[0] = sqrt(value[0]);
        else {
            float single;
            memcpy(&single, value, sizeof single);
            single = sqrtf(single);
            memcpy(value, &single, sizeof single);
        }
        return PyArray_Scalar(value, PyArray_DESCR(a), NULL);
    }
    """
    PyObject *clip_small "lazyarray_do_clip" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
