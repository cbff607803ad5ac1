# `numpy.linalg.inv`, `det` and `solve` of one small matrix, for `direct.pxd`: NumPy's loops over LAPACK, without what
# NumPy's Python code does around them, which takes three times as long.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary
from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    #define LAZYARRAY_SOLVED 64  /* rows from which LAPACK's own time is what counts */

    /* NumPy's loop under this name for float64; without a loop where this NumPy has another module. */
    static lazyarray_loop lazyarray_lapack(const char *name) {
        static PyObject *module = NULL;
        static int asked = 0;
        lazyarray_loop found = {0};
        PyObject *ufunc;
        if (!asked && lazyarray_is_ready()) {
            asked = 1;
            if (!(module = PyImport_ImportModule("numpy.linalg._umath_linalg"))) PyErr_Clear();
        }
        if (!module) return found;
        if (!(ufunc = PyObject_GetAttrString(module, name))) { PyErr_Clear(); return found; }
        if (Py_TYPE(ufunc) == &PyUFunc_Type) found = lazyarray_loop_of(ufunc, NPY_DOUBLE);
        if (found.made != NPY_DOUBLE) found.loop = NULL;
        Py_DECREF(ufunc);
        return found;
    }

    /* Arrays of float64 of which the first is a square matrix of few rows. */
    static int lazyarray_is_solved(PyArrayObject *a, PyArrayObject *b) {
        PyArray_Descr *own;
        npy_intp rows;
        if (!lazyarray_is_ready() || PyArray_NDIM(a) != 2) return 0;
        own = lazyarray_own(NPY_DOUBLE);
        rows = PyArray_DIM(a, 0);
        if (PyArray_DESCR(a) != own || !rows || rows > LAZYARRAY_SOLVED || PyArray_DIM(a, 1) != rows || !PyArray_ISALIGNED(a))
            return 0;
        return !b || (PyArray_CheckExact(b) && PyArray_DESCR(b) == own && PyArray_ISALIGNED(b) && PyArray_SIZE(b)
            && (PyArray_NDIM(b) == 1 || PyArray_NDIM(b) == 2) && PyArray_DIM(b, 0) == rows
            && (PyArray_NDIM(b) == 1 || PyArray_DIM(b, 1) <= LAZYARRAY_SOLVED));
    }

    /* The loop run once: over matrices, `b` NULL for one, into `made`. 0 where NumPy's code is to tell of it. */
    static int lazyarray_run_lapack(
        lazyarray_loop chosen, PyArrayObject *a, PyArrayObject *b, char *to, PyArrayObject *made, int told
    ) {
        npy_intp sizes[3] = {1}, steps[9] = {0};
        int many = b && PyArray_NDIM(b) == 2, at = b ? 3 : 2, axis;
        char *places[3];
        PyArrayObject *each[3];
        int count = 0, k;
        sizes[1] = PyArray_DIM(a, 0);
        if (many) sizes[2] = PyArray_DIM(b, 1);
        each[count++] = a;
        if (b) each[count++] = b;
        each[count++] = made;
        for (k = 0; k < count; k++) {
            places[k] = each[k] ? PyArray_BYTES(each[k]) : to;
            for (axis = 0; each[k] && axis < PyArray_NDIM(each[k]); axis++) steps[at++] = PyArray_STRIDE(each[k], axis);
        }
        lazyarray_forget_errors();
        (*chosen.loop)(places, sizes, steps, chosen.data);
        return lazyarray_is_quiet(told);
    }

    /* Singular matrices are what NumPy's loops raise FE_INVALID for; the rest NumPy ignores. */
    static PyObject *lazyarray_solved(const char *name, PyArrayObject *a, PyArrayObject *b) {
        lazyarray_loop chosen;
        PyArrayObject *like = b ? b : a, *made;
        if (!lazyarray_is_solved(a, b)) return NULL;
        chosen = lazyarray_lapack(name);
        if (!chosen.loop) return NULL;
        made = (PyArrayObject *)lazyarray_new(NPY_DOUBLE, PyArray_NDIM(like), PyArray_DIMS(like));
        if (made && !lazyarray_run_lapack(chosen, a, b, NULL, made, FE_INVALID)) Py_CLEAR(made);
        return (PyObject *)made;
    }

    static PyObject *lazyarray_do_inv(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)rest, (void)limit;
        return count ? NULL : lazyarray_solved("inv", (PyArrayObject *)first, NULL);
    }

    static PyObject *lazyarray_do_solve(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *b = count == 1 && PyArray_CheckExact(rest[0]) ? (PyArrayObject *)rest[0] : NULL;
        (void)limit;
        return b ? lazyarray_solved(PyArray_NDIM(b) == 1 ? "solve1" : "solve", (PyArrayObject *)first, b) : NULL;
    }

    static PyObject *lazyarray_do_det(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        lazyarray_loop chosen;
        double value;
        (void)rest, (void)limit;
        if (count || !lazyarray_is_solved((PyArrayObject *)first, NULL)) return NULL;
        chosen = lazyarray_lapack("det");
        if (!chosen.loop) return NULL;
        if (!lazyarray_run_lapack(chosen, (PyArrayObject *)first, NULL, (char *)&value, NULL, LAZYARRAY_ERRORS)) return NULL;
        return PyArray_Scalar(&value, lazyarray_own(NPY_DOUBLE), NULL);
    }
    """
    PyObject *solve_small "lazyarray_do_solve" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
