# `numpy.pad` of small arrays, for `direct.pxd`: NumPy's is Python code that takes thirty times as long as the copy.
from cpython.object cimport PyObject

from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    /* How many items go before and behind each axis, and what they hold. `sizes`: bytes of an item of the result.
       `whole`: how many axes come before those whose items lie in the array as they do in the result. */
    typedef struct {
        npy_intp before[LAZYARRAY_RANK], after[LAZYARRAY_RANK], sizes[LAZYARRAY_RANK];
        int mode, whole;
    } lazyarray_margins;

    enum { LAZYARRAY_CONSTANT, LAZYARRAY_EDGE, LAZYARRAY_REFLECT, LAZYARRAY_SYMMETRIC, LAZYARRAY_WRAP, LAZYARRAY_MODES };
    static const char *const lazyarray_modes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};

    static int lazyarray_mode_named(PyObject *name) {
        int mode = 0;
        if (!PyUnicode_CheckExact(name)) return LAZYARRAY_MODES;
        while (mode < LAZYARRAY_MODES && PyUnicode_CompareWithASCIIString(name, lazyarray_modes[mode])) mode++;
        return mode;
    }

    /* A width below `limit`; -1 for what is none. */
    static npy_intp lazyarray_width_of(PyObject *given, Py_ssize_t limit) {
        npy_intp width;
        if (!lazyarray_is_place(given)) return -1;
        width = lazyarray_named_place(given);
        if (width == -1 && PyErr_Occurred()) PyErr_Clear();
        return width < limit ? width : -1;
    }

    /* One axis's widths out of one pair, or of one number for both sides. */
    static int lazyarray_pair_of(PyObject *given, lazyarray_margins *margins, int axis, Py_ssize_t limit) {
        int many = lazyarray_is_listed(given);
        if (many && PySequence_Fast_GET_SIZE(given) != 2) return 0;
        margins->before[axis] = lazyarray_width_of(many ? PySequence_Fast_GET_ITEM(given, 0) : given, limit);
        margins->after[axis] = lazyarray_width_of(many ? PySequence_Fast_GET_ITEM(given, 1) : given, limit);
        return margins->before[axis] >= 0 && margins->after[axis] >= 0;
    }

    /* `_as_pairs` of NumPy's numpy/lib/_arraypad_impl.py: a number, a pair, or a pair for each axis. */
    static int lazyarray_widths_of(PyObject *given, lazyarray_margins *margins, int rank, Py_ssize_t limit) {
        int axis, each = lazyarray_is_listed(given) && PySequence_Fast_GET_SIZE(given)
            && lazyarray_is_listed(PySequence_Fast_GET_ITEM(given, 0));
        Py_ssize_t count = each ? PySequence_Fast_GET_SIZE(given) : 1;
        if (count != 1 && count != rank) return 0;
        for (axis = 0; axis < rank; axis++) {
            PyObject *pair = each ? PySequence_Fast_GET_ITEM(given, count == 1 ? 0 : axis) : given;
            if (each && !lazyarray_is_listed(pair)) return 0;
            if (!lazyarray_pair_of(pair, margins, axis, limit)) return 0;
        }
        return 1;
    }

    /* The item of an axis that stands at `place`, counted from its first one; margins are no wider than what one turn
       of the mode gives. */
    static npy_intp lazyarray_mirrored(int mode, npy_intp place, npy_intp extent) {
        int both = mode == LAZYARRAY_SYMMETRIC;
        if (place >= 0 && place < extent) return place;
        if (mode == LAZYARRAY_EDGE) return place < 0 ? 0 : extent - 1;
        if (mode == LAZYARRAY_WRAP) return place < 0 ? place + extent : place - extent;
        return place < 0 ? -place - both : 2 * extent - 2 - place + both;
    }

    /* Whether one turn of the mode fills the margins: NumPy takes more in its own ways. */
    static int lazyarray_fills(const lazyarray_margins *margins, int axis, npy_intp extent) {
        npy_intp reach = margins->mode == LAZYARRAY_REFLECT ? extent - 1 : extent;
        if (margins->mode == LAZYARRAY_CONSTANT || margins->mode == LAZYARRAY_EDGE) return 1;
        return margins->before[axis] <= reach && margins->after[axis] <= reach;
    }

    static char *lazyarray_pad_axis(PyArrayObject *a, const lazyarray_margins *margins, int axis, const char *from, char *to);

    /* The items of an axis from `place` to `end`, those of its margins too; returns the byte behind them. What margins
       hold that take no item is there already. */
    static char *lazyarray_pad_items(
        PyArrayObject *a, const lazyarray_margins *margins, int axis, const char *from, char *to, npy_intp place, npy_intp end
    ) {
        npy_intp extent = PyArray_DIM(a, axis), stride = PyArray_STRIDE(a, axis), item = margins->sizes[axis];
        if (margins->mode == LAZYARRAY_CONSTANT && (place < 0 || place >= extent)) return to + (end - place) * item;
        for (; place < end; place++) {
            const char *source = from + lazyarray_mirrored(margins->mode, place, extent) * stride;
            if (axis + 1 < margins->whole) to = lazyarray_pad_axis(a, margins, axis + 1, source, to);
            else { if (item == 8) memcpy(to, source, 8); else memcpy(to, source, item); to += item; }
        }
        return to;
    }

    /* A whole axis with its margins. */
    static char *lazyarray_pad_axis(PyArrayObject *a, const lazyarray_margins *margins, int axis, const char *from, char *to) {
        npy_intp extent = PyArray_DIM(a, axis), item = margins->sizes[axis];
        to = lazyarray_pad_items(a, margins, axis, from, to, -margins->before[axis], 0);
        if (axis + 1 < margins->whole || PyArray_STRIDE(a, axis) != item)
            to = lazyarray_pad_items(a, margins, axis, from, to, 0, extent);
        else { memcpy(to, from, extent * item); to += extent * item; }
        return lazyarray_pad_items(a, margins, axis, from, to, extent, extent + margins->after[axis]);
    }

    /* The result's shape, with which the margins know their bytes; 0 for more than this fills. */
    static int lazyarray_padded_shape(PyArrayObject *a, lazyarray_margins *margins, npy_intp *dims, Py_ssize_t limit) {
        npy_intp size = 1;
        int axis;
        margins->whole = PyArray_NDIM(a);
        for (axis = PyArray_NDIM(a) - 1; axis >= 0; axis--) {
            npy_intp extent = PyArray_DIM(a, axis);
            if (!lazyarray_fills(margins, axis, extent)) return 0;
            dims[axis] = margins->before[axis] + extent + margins->after[axis];
            margins->sizes[axis] = size * PyArray_ITEMSIZE(a);
            size *= dims[axis];
            if (size >= limit) return 0;
            if (axis && margins->whole == axis + 1 && dims[axis] == extent && PyArray_STRIDE(a, axis) == margins->sizes[axis])
                margins->whole = axis;
        }
        return 1;
    }

    static void lazyarray_fill_all(PyArrayObject *a, const char *number) {
        npy_intp place, count = PyArray_SIZE(a), item = PyArray_ITEMSIZE(a);
        char *to = PyArray_BYTES(a);
        if (!number) memset(to, 0, count * item);
        else if (item == 8) for (place = 0; place < count; place++) memcpy(to + place * 8, number, 8);
        else for (place = 0; place < count; place++) memcpy(to + place * item, number, item);
    }

    static PyObject *lazyarray_do_pad(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        lazyarray_margins margins;
        npy_intp dims[LAZYARRAY_RANK];
        int rank = PyArray_NDIM(a);
        PyObject *made;
        double number[2];
        if (count < 1 || count > 3 || !rank || rank > LAZYARRAY_RANK || !PyArray_SIZE(a) || !lazyarray_is_own(a)) return NULL;
        if (PyArray_IS_F_CONTIGUOUS(a) && !PyArray_IS_C_CONTIGUOUS(a)) return NULL;  /* and so is NumPy's */
        margins.mode = count > 1 && rest[1] ? lazyarray_mode_named(rest[1]) : LAZYARRAY_CONSTANT;
        if (margins.mode == LAZYARRAY_MODES || (count == 3 && (
            margins.mode != LAZYARRAY_CONSTANT || lazyarray_number_as(rest[2], PyArray_TYPE(a), number) < 0))) return NULL;
        if (!lazyarray_widths_of(rest[0], &margins, rank, limit)) return NULL;
        if (!lazyarray_padded_shape(a, &margins, dims, limit)) return NULL;
        if (!(made = lazyarray_new(PyArray_TYPE(a), rank, dims))) return NULL;
        if (margins.mode == LAZYARRAY_CONSTANT) lazyarray_fill_all((PyArrayObject *)made, count == 3 ? (char *)number : NULL);
        lazyarray_pad_axis(a, &margins, 0, PyArray_BYTES(a), PyArray_BYTES((PyArrayObject *)made));
        return made;
    }
    """
    PyObject *pad_small "lazyarray_do_pad" (PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit)
