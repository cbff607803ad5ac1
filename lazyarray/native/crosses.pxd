# `numpy.cross` of small arrays of vectors, for `direct.pxd`: NumPy's Python code takes a hundred times as long.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary
from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    /* The cross products of `count` pairs of vectors; their elements lie `step` and `with` bytes apart. 0 where an element
       is no number: which one of two such a product takes, NumPy's loops decide. */
    static int lazyarray_cross_rows(
        const char *a, npy_intp row, npy_intp step, const char *b, npy_intp other, npy_intp with, double *to, npy_intp count
    ) {
        double x[3], y[3];
        int k, known = 1;
        for (; count > 0; count--, a += row, b += other, to += 3) {
            for (k = 0; k < 3; k++) { x[k] = *(double *)(a + k * step); y[k] = *(double *)(b + k * with); }
            for (k = 0; k < 3; k++) {
                int next = (k + 1) % 3, last = (k + 2) % 3;
                double first = x[next] * y[last], second = x[last] * y[next];
                to[k] = first - second;
                known &= to[k] == to[k];
            }
        }
        return known;
    }

    static int lazyarray_is_vectors(PyArrayObject *a) {
        int rank = PyArray_NDIM(a);
        return PyArray_CheckExact(a) && (rank == 1 || rank == 2) && PyArray_DIM(a, rank - 1) == 3
            && PyArray_DESCR(a) == lazyarray_own(NPY_DOUBLE) && PyArray_ISALIGNED(a) && PyArray_SIZE(a);
    }

    /* Where something is to be told of the numbers, NumPy's code tells it. */
    static PyObject *lazyarray_do_cross(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *pair[2], *made;
        npy_intp dims[2] = {1, 3}, rows[2] = {0, 0};
        int k, rank = 1, known;
        (void)limit;
        if (count != 1) return NULL;
        pair[0] = (PyArrayObject *)first;
        pair[1] = (PyArrayObject *)rest[0];
        for (k = 0; k < 2; k++) {
            if (!lazyarray_is_vectors(pair[k])) return NULL;
            if (PyArray_NDIM(pair[k]) == 1) continue;
            if (rank == 2 && PyArray_DIM(pair[k], 0) != dims[0]) return NULL;
            rank = 2;
            dims[0] = PyArray_DIM(pair[k], 0);
            rows[k] = PyArray_STRIDE(pair[k], 0);
        }
        made = (PyArrayObject *)lazyarray_new(NPY_DOUBLE, rank, dims + 2 - rank);
        if (!made) return NULL;
        lazyarray_forget_errors();
        known = lazyarray_cross_rows(
            PyArray_BYTES(pair[0]), rows[0], PyArray_STRIDE(pair[0], PyArray_NDIM(pair[0]) - 1), PyArray_BYTES(pair[1]),
            rows[1], PyArray_STRIDE(pair[1], PyArray_NDIM(pair[1]) - 1), (double *)PyArray_BYTES(made), dims[0]);
        if (!lazyarray_is_quiet(LAZYARRAY_ERRORS) || !known) Py_CLEAR(made);
        return made ? lazyarray_show_made((PyObject *)made) : NULL;  /* the axis, moved to the end */
    }
    """
    PyObject *cross_small "lazyarray_do_cross" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
