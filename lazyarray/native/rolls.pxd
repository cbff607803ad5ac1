# `numpy.roll` of small arrays, for `direct.pxd`: NumPy's is Python code that takes ten times as long as the copy.
from cpython.object cimport PyObject

from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    /* A copy of a C-contiguous array whose blocks of `extent` times `inner` bytes each begin `shift` items later. */
    static PyObject *lazyarray_roll_blocks(PyArrayObject *a, npy_intp extent, npy_intp inner, Py_ssize_t shift) {
        PyObject *made = lazyarray_new(PyArray_TYPE(a), PyArray_NDIM(a), PyArray_DIMS(a));
        const char *from = PyArray_BYTES(a), *end = from + PyArray_NBYTES(a);
        npy_intp block = extent * inner, later = shift % extent;
        char *to;
        if (!made) return NULL;
        later = (later < 0 ? later + extent : later) * inner;
        for (to = PyArray_BYTES((PyArrayObject *)made); from < end; from += block, to += block) {
            memcpy(to + later, from, block - later);
            memcpy(to, from + block - later, later);
        }
        return made;
    }

    /* NULL without an error for an axis or a shift that is no plain integer, or none of the array's. */
    static PyObject *lazyarray_roll_axis(PyArrayObject *a, PyObject *shift, PyObject *axis) {
        int rank = PyArray_NDIM(a), along, place;
        npy_intp inner = PyArray_ITEMSIZE(a);
        Py_ssize_t distance;
        if (!lazyarray_is_place(shift) || (along = (int)lazyarray_place_in(axis, rank)) < 0) return NULL;
        distance = lazyarray_named_place(shift);
        if (distance == -1 && PyErr_Occurred()) { PyErr_Clear(); return NULL; }
        for (place = along + 1; place < rank; place++) inner *= PyArray_DIM(a, place);
        return lazyarray_roll_blocks(a, PyArray_DIM(a, along), inner, distance);
    }

    /* Without an axis all elements are one, and the result is a view of that, as NumPy's is. */
    static PyObject *lazyarray_roll_all(PyArrayObject *a, PyObject *shift) {
        PyObject *flat, *rolled = NULL, *shown = NULL, *first = PyLong_FromLong(0);
        npy_intp size = PyArray_SIZE(a);
        flat = first ? lazyarray_show(a, 1, &size, NULL, PyArray_BYTES(a)) : NULL;
        if (flat) rolled = lazyarray_roll_axis((PyArrayObject *)flat, shift, first);
        if (rolled) shown = lazyarray_show(
            (PyArrayObject *)rolled, PyArray_NDIM(a), PyArray_DIMS(a), NULL, PyArray_BYTES((PyArrayObject *)rolled));
        Py_XDECREF(rolled);
        Py_XDECREF(flat);
        Py_XDECREF(first);
        return shown;
    }

    static PyObject *lazyarray_do_roll(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        PyObject *axes = count > 1 ? rest[1] : Py_None, *shifts = count ? rest[0] : NULL, *made = NULL, *last;
        Py_ssize_t place;
        if (count < 1 || count > 2 || !PyArray_SIZE(a) || !PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return NULL;
        if (axes == Py_None) return lazyarray_roll_all(a, shifts);
        if (!PyTuple_CheckExact(axes) && !PyTuple_CheckExact(shifts)) return lazyarray_roll_axis(a, shifts, axes);
        if (!PyTuple_CheckExact(axes) || !PyTuple_CheckExact(shifts)) return NULL;
        if (!PyTuple_GET_SIZE(axes) || PyTuple_GET_SIZE(axes) != PyTuple_GET_SIZE(shifts)) return NULL;
        for (place = 0; place < PyTuple_GET_SIZE(axes); place++) {
            last = made;
            made = lazyarray_roll_axis(
                last ? (PyArrayObject *)last : a, PyTuple_GET_ITEM(shifts, place), PyTuple_GET_ITEM(axes, place));
            Py_XDECREF(last);
            if (!made) return NULL;
        }
        return made;
    }
    """
    PyObject *roll_small "lazyarray_do_roll" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
