# `numpy.isclose` and `allclose` of small arrays, for `direct.pxd`: NumPy's Python code takes fifty times as long.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary
from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    #include <float.h>

    /* How near numbers are to be, and whether one that is none is near to another. */
    typedef struct {
        double relative, absolute;
        int same_nans;
    } lazyarray_tolerance;

    /* A finite Python number as float64; 0 for what is none. */
    static int lazyarray_finite(PyObject *given, double *number) {
        return (PyFloat_CheckExact(given) || PyLong_CheckExact(given))
            && lazyarray_number_as(given, NPY_DOUBLE, number) >= 0 && isfinite(*number);
    }

    /* What stands behind the two operands, NULL for what does not. */
    static int lazyarray_tolerance_of(PyObject *const *rest, size_t count, lazyarray_tolerance *made) {
        made->relative = 1e-5;
        made->absolute = 1e-8;
        made->same_nans = 0;
        if (count > 1 && rest[1] && !lazyarray_finite(rest[1], &made->relative)) return 0;
        if (count > 2 && rest[2] && !lazyarray_finite(rest[2], &made->absolute)) return 0;
        if (count > 3 && rest[3]) { if (!PyBool_Check(rest[3])) return 0; made->same_nans = rest[3] == Py_True; }
        return 1;
    }

    /* Operation by operation what `isclose` of NumPy's numpy/_core/numeric.py does. `step`: 0 for one y. */
    #define LAZYARRAY_CLOSE(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static npy_bool lazyarray_close_##NAME( \\
            const KIND *restrict x, const KIND *restrict y, npy_intp step, npy_bool *restrict near, npy_intp count, \\
            const lazyarray_tolerance *given \\
        ) { \\
            KIND relative = given->relative, absolute = given->absolute; \\
            npy_bool same_nans = (npy_bool)given->same_nans, all = 1; \\
            npy_intp place; \\
            for (place = 0; place < count; place++) { \\
                KIND a = x[place], b = y[place * step], away = fabs(a - b), width = absolute + relative * fabs(b); \\
                npy_bool within = (away <= width) & (fabs(b) <= DBL_MAX); \\
                near[place] = within | (a == b) | (same_nans & (a != a) & (b != b)); \\
                all &= near[place]; \\
            } \\
            return all; \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_CLOSE, doubles, double)

    /* Which elements are near; `all`: whether all are. NULL also where NumPy's code is to tell something of the numbers,
       but of those that are none, of which it tells nothing. */
    static PyObject *lazyarray_near(PyObject *first, PyObject *const *rest, size_t count, int *all) {
        PyArrayObject *x = (PyArrayObject *)first, *y = (PyArrayObject *)rest[0], *made;
        lazyarray_tolerance tolerance;
        double number[2];
        int one;
        if (count < 1 || count > 4 || !PyArray_NDIM(x) || !PyArray_SIZE(x) || PyArray_DESCR(x) != lazyarray_own(NPY_DOUBLE)
            || !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISALIGNED(x)) return NULL;
        one = !PyArray_CheckExact(rest[0]);
        if (one ? !lazyarray_finite(rest[0], number) : PyArray_DESCR(y) != PyArray_DESCR(x) || !PyArray_SAMESHAPE(x, y)
            || !PyArray_IS_C_CONTIGUOUS(y) || !PyArray_ISALIGNED(y)) return NULL;
        if (!lazyarray_tolerance_of(rest, count, &tolerance)) return NULL;
        if (!(made = (PyArrayObject *)lazyarray_new(NPY_BOOL, PyArray_NDIM(x), PyArray_DIMS(x)))) return NULL;
        lazyarray_forget_errors();
        *all = LAZYARRAY_PICK(close, doubles)(
            (double *)PyArray_BYTES(x), one ? number : (double *)PyArray_BYTES(y), !one, (npy_bool *)PyArray_BYTES(made),
            PyArray_SIZE(x), &tolerance);
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS & ~FE_INVALID)) Py_CLEAR(made);
        return (PyObject *)made;
    }

    static PyObject *lazyarray_do_isclose(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        int all;
        PyObject *near = lazyarray_near(first, rest, count, &all);
        (void)limit;
        return near ? lazyarray_show_made(near) : NULL;  /* `result[()]` */
    }

    static PyObject *lazyarray_do_allclose(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        int all;
        PyObject *near = lazyarray_near(first, rest, count, &all);
        (void)limit;
        if (!near) return NULL;
        Py_DECREF(near);
        return PyBool_FromLong(all);
    }
    """
    PyObject *near_small "lazyarray_do_isclose" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
