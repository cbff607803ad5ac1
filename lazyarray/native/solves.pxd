# `numpy.linalg.inv`, `det` and `solve` of one small matrix, for `direct.pxd`: NumPy's loops over LAPACK, without what
# NumPy's Python code does around them, which takes three times as long.
from cpython.object cimport PyObject

from lazyarray.native.folds cimport ufunc_of
from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    #define LAZYARRAY_SOLVED 64  /* rows from which LAPACK's own time is what counts */

    /* Arrays of float64 of which the first is a square matrix of few rows. */
    static int lazyarray_is_solved(PyArrayObject *a, PyArrayObject *b) {
        PyArray_Descr *own;
        npy_intp rows;
        if (PyArray_NDIM(a) != 2) return 0;
        own = lazyarray_own(NPY_DOUBLE);
        rows = PyArray_DIM(a, 0);
        if (PyArray_DESCR(a) != own || !rows || rows > LAZYARRAY_SOLVED || PyArray_DIM(a, 1) != rows || !PyArray_ISALIGNED(a))
            return 0;
        return !b || (PyArray_CheckExact(b) && PyArray_DESCR(b) == own && PyArray_ISALIGNED(b) && PyArray_SIZE(b)
            && (PyArray_NDIM(b) == 1 || PyArray_NDIM(b) == 2) && PyArray_DIM(b, 0) == rows
            && (PyArray_NDIM(b) == 1 || PyArray_DIM(b, 1) <= LAZYARRAY_SOLVED));
    }

    /* What NumPy's loop of this name makes of a matrix, and of `b` unless that is NULL, in an array of `rank` axes of the
       last one, which is a scalar where there are none. NULL also where one of the errors `told` was raised. */
    static PyObject *lazyarray_solved(
        PyObject **kept, const char *name, PyArrayObject *a, PyArrayObject *b, int rank, int told
    ) {
        PyArrayObject *each[3] = {a, b ? b : a, b}, *made;
        PyObject *ufunc;
        lazyarray_loop chosen;
        npy_intp sizes[3] = {1}, steps[9] = {0};
        int count = b ? 3 : 2, at = count, axis, k;
        char *places[3];
        if (!lazyarray_is_solved(a, b)) return NULL;
        if (!(ufunc = lazyarray_hidden_ufunc(kept, "numpy.linalg._umath_linalg", name))) return NULL;
        chosen = lazyarray_loop_of(ufunc, NPY_DOUBLE);
        if (!chosen.loop || chosen.made != NPY_DOUBLE) return NULL;
        made = (PyArrayObject *)lazyarray_new(NPY_DOUBLE, rank, PyArray_DIMS(each[1]));
        if (!made) return NULL;
        each[count - 1] = made;
        sizes[1] = PyArray_DIM(a, 0);
        if (b && PyArray_NDIM(b) == 2) sizes[2] = PyArray_DIM(b, 1);
        for (k = 0; k < count; k++) {
            places[k] = PyArray_BYTES(each[k]);
            for (axis = 0; axis < PyArray_NDIM(each[k]); axis++) steps[at++] = PyArray_STRIDE(each[k], axis);
        }
        lazyarray_forget_errors();
        (*chosen.loop)(places, sizes, steps, chosen.data);
        if (!lazyarray_is_quiet(told)) Py_CLEAR(made);
        return made ? PyArray_Return(made) : NULL;
    }

    /* Singular matrices are what NumPy's loops raise FE_INVALID for here; the rest NumPy ignores. */
    static PyObject *lazyarray_do_inv(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *kept = NULL;
        (void)rest, (void)limit;
        return count ? NULL : lazyarray_solved(&kept, "inv", (PyArrayObject *)first, NULL, 2, FE_INVALID);
    }

    static PyObject *lazyarray_do_solve(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *one = NULL, *many = NULL;
        PyArrayObject *a = (PyArrayObject *)first, *b;
        (void)limit;
        if (count != 1 || !PyArray_CheckExact(rest[0])) return NULL;
        b = (PyArrayObject *)rest[0];
        if (PyArray_NDIM(b) == 1) return lazyarray_solved(&one, "solve1", a, b, 1, FE_INVALID);
        return lazyarray_solved(&many, "solve", a, b, PyArray_NDIM(b), FE_INVALID);
    }

    static PyObject *lazyarray_do_det(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *kept = NULL;
        (void)rest, (void)limit;
        return count ? NULL : lazyarray_solved(&kept, "det", (PyArrayObject *)first, NULL, 0, LAZYARRAY_ERRORS);
    }
    """
    PyObject *solve_small "lazyarray_do_solve" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
