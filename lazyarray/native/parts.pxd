# C's side of `parts.py`: parts of memory at keys of integers, slices, None and `...`, at few places, and in strides.
from cpython.object cimport PyObject

from lazyarray.native.masks cimport select_masked
from lazyarray.native.primitives cimport element_of

cdef extern from *:
    """
    #define LAZYARRAY_RANK 16  /* most axes of a view that is made here */
    #define LAZYARRAY_FEW 64   /* most elements that are moved one by one: NumPy's loops are made for many */

    typedef struct {
        int rank;
        npy_intp dims[LAZYARRAY_RANK], strides[LAZYARRAY_RANK];
        char *data;
    } lazyarray_region;

    /* NumPy's own dtype of a type that it has numbers of: nothing to count, to swap, or to say of them. */
    static int lazyarray_is_own(PyArrayObject *a) {
        int type = PyArray_TYPE(a);
        return lazyarray_is_plain_type(type) && PyArray_DESCR(a) == lazyarray_own(type);
    }

    static int lazyarray_is_slice(PyObject *item) {
        PySliceObject *slice = (PySliceObject *)item;
        return PySlice_Check(item) && (slice->start == Py_None || lazyarray_is_place(slice->start))
            && (slice->stop == Py_None || lazyarray_is_place(slice->stop))
            && (slice->step == Py_None || lazyarray_is_place(slice->step));
    }

    static int lazyarray_add_axis(lazyarray_region *region, npy_intp extent, npy_intp stride) {
        if (region->rank >= LAZYARRAY_RANK) return 0;
        region->dims[region->rank] = extent;
        region->strides[region->rank++] = stride;
        return 1;
    }

    /* Counts what a tuple has of each kind; 0 where it is no key of a view. */
    static int lazyarray_count_items(PyObject *key, int rank, int *used, int *all) {
        Py_ssize_t place;
        int integers = 0, added = 0, open = 0;
        for (place = 0; place < PyTuple_GET_SIZE(key); place++) {
            PyObject *item = PyTuple_GET_ITEM(key, place);
            if (lazyarray_is_place(item)) { integers++; (*used)++; }
            else if (PySlice_Check(item)) (*used)++;
            else if (item == Py_None) added++;
            else if (item == Py_Ellipsis && !open) open = 1;
            else return 0;
        }
        *all = rank - *used;
        return *used <= rank && (open || added || integers < rank);
    }

    /* The part of `a` that a key shows as a view; 0 for other keys, none raised. As `get_view_from_index` in NumPy's
       numpy/_core/src/multiarray/mapping.c. */
    static int lazyarray_find_region(PyArrayObject *a, PyObject *key, lazyarray_region *found) {
        int many = PyTuple_CheckExact(key), rank = PyArray_NDIM(a), used = 0, open = rank, axis = 0;
        PyObject *const *items = many ? ((PyTupleObject *)key)->ob_item : &key;
        Py_ssize_t given = many ? PyTuple_GET_SIZE(key) : 1, place;
        found->rank = 0;
        found->data = PyArray_BYTES(a);
        if (many && !lazyarray_count_items(key, rank, &used, &open)) return 0;
        for (place = 0; place < given; place++) {
            PyObject *item = items[place];
            if (lazyarray_is_place(item)) {
                Py_ssize_t at = rank < (many ? 1 : 2) ? -1 : lazyarray_place_in(item, PyArray_DIM(a, axis));
                if (at < 0) return 0;
                found->data += at * PyArray_STRIDE(a, axis++);
            }
            else if (item == Py_None) {
                if (!lazyarray_add_axis(found, 1, 0)) return 0;
            }
            else if (item == Py_Ellipsis) {
                for (; open > 0; open--, axis++)
                    if (!lazyarray_add_axis(found, PyArray_DIM(a, axis), PyArray_STRIDE(a, axis))) return 0;
            }
            else {
                Py_ssize_t start, stop, step, extent;
                if (axis >= rank || !lazyarray_is_slice(item)) return 0;
                if (PySlice_Unpack(item, &start, &stop, &step) < 0) { PyErr_Clear(); return 0; }
                extent = PySlice_AdjustIndices(PyArray_DIM(a, axis), &start, &stop, step);
                if (extent <= 0) { extent = start = 0; step = 1; }
                found->data += start * PyArray_STRIDE(a, axis);
                if (!lazyarray_add_axis(found, extent, step * PyArray_STRIDE(a, axis))) return 0;
                axis++;
            }
        }
        for (; axis < rank; axis++)
            if (!lazyarray_add_axis(found, PyArray_DIM(a, axis), PyArray_STRIDE(a, axis))) return 0;
        return 1;
    }

    /* A view of `a`; of the strides that follow from C order where `strides` is NULL. */
    static PyObject *lazyarray_show(PyArrayObject *a, int rank, npy_intp *dims, npy_intp *strides, char *data) {
        PyObject *made;
        Py_INCREF(PyArray_DESCR(a));
        made = PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DESCR(a), rank, dims, strides, data, PyArray_FLAGS(a), NULL);
        if (!made) return NULL;
        Py_INCREF(a);
        /* What NumPy finds for the base of a view of memory's owner, without the call. A flag of its own, the last bit
           (multiarray/arrayobject.h), has views of some arrays warn when they are written. */
        if (PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA) && PyArray_FLAGS(a) >= 0)
            ((PyArrayObject_fields *)made)->base = (PyObject *)a;
        else if (PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)a) < 0) { Py_DECREF(made); return NULL; }
        return made;
    }

    /* A view of all of what was just made, and is held by that alone from here on, where NumPy's code ends in one. */
    static PyObject *lazyarray_show_made(PyObject *made) {
        PyArrayObject *a = (PyArrayObject *)made;
        PyObject *shown = lazyarray_show(a, PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), PyArray_BYTES(a));
        Py_DECREF(made);
        return shown;
    }

    static PyObject *lazyarray_show_at(PyObject *given, Py_ssize_t offset, PyObject *shape, PyObject *strides) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS], itemsize;
        int rank = (int)PyTuple_GET_SIZE(shape), axis;
        if (!lazyarray_is_ready()) return NULL;
        if (rank > NPY_MAXDIMS) {
            PyErr_Format(PyExc_ValueError, "a view of %d axes: arrays have %d at most", rank, NPY_MAXDIMS);
            return NULL;
        }
        itemsize = PyArray_ITEMSIZE(a);
        for (axis = 0; axis < rank; axis++) {
            dims[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            steps[axis] = itemsize * PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis));
        }
        return PyErr_Occurred() ? NULL : lazyarray_show(a, rank, dims, steps, PyArray_BYTES(a) + offset * itemsize);
    }

    static PyObject *lazyarray_missing(PyObject *missing) { Py_INCREF(missing); return missing; }

    static PyObject *lazyarray_read_at(PyObject *given, PyObject *key, PyObject *missing) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_region region;
        char *place;
        if (!lazyarray_is_ready()) return NULL;
        if (!PyArray_CheckExact(given)) return lazyarray_missing(missing);
        if ((place = lazyarray_seek_element(given, key))) return PyArray_Scalar(place, PyArray_DESCR(a), given);
        if (!lazyarray_find_region(a, key, &region)) return lazyarray_missing(missing);
        return lazyarray_show(a, region.rank, region.dims, region.strides, region.data);
    }

    static PyObject *lazyarray_new(int type, int rank, npy_intp *dims) {
        return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), rank, dims, NULL, NULL, 0, NULL);
    }

    static int lazyarray_is_listed(PyObject *item) { return PyList_CheckExact(item) || PyTuple_CheckExact(item); }

    /* The places in one axis that a short index names; how many, or -1 where NumPy is to look. */
    static npy_intp lazyarray_find_places(PyArrayObject *a, PyArrayObject *index, npy_intp *taken) {
        npy_intp extent, place, size, at;
        char *from;
        if (PyArray_NDIM(a) != 1 || PyArray_NDIM(index) != 1 || PyArray_TYPE(index) != NPY_INTP
            || !PyArray_ISALIGNED(index)) return -1;
        extent = PyArray_DIM(a, 0);
        size = PyArray_DIM(index, 0);
        if (size > LAZYARRAY_FEW) return -1;
        from = PyArray_BYTES(index);
        for (place = 0; place < size; place++, from += PyArray_STRIDE(index, 0)) {
            at = lazyarray_from_start(*(npy_intp *)from, extent);
            if (at < 0) return -1;
            taken[place] = at;
        }
        return size;
    }

    /* The same of a list or tuple of integers. */
    static npy_intp lazyarray_find_listed(PyArrayObject *a, PyObject *items, npy_intp *taken) {
        npy_intp size = PySequence_Fast_GET_SIZE(items), place;
        if (PyArray_NDIM(a) != 1 || !size || size > LAZYARRAY_FEW) return -1;
        for (place = 0; place < size; place++) {
            taken[place] = lazyarray_place_in(PySequence_Fast_ITEMS(items)[place], PyArray_DIM(a, 0));
            if (taken[place] < 0) return -1;
        }
        return size;
    }

    /* The elements of a vector at so many places. */
    static PyObject *lazyarray_gather(PyArrayObject *a, const npy_intp *taken, npy_intp count) {
        npy_intp place, size = PyArray_ITEMSIZE(a);
        PyObject *made = lazyarray_new(PyArray_TYPE(a), 1, &count);
        char *to, *from;
        if (!made) return NULL;
        to = PyArray_BYTES((PyArrayObject *)made);
        for (place = 0; place < count; place++, to += size) {
            from = PyArray_BYTES(a) + taken[place] * PyArray_STRIDE(a, 0);
            if (size == 8) memcpy(to, from, 8); else memcpy(to, from, size);
        }
        return made;
    }

    /* Arrays and indices that are looked at here: indices are arrays, or lists of integers. */
    static int lazyarray_is_indexed(PyObject *given, PyObject *index) {
        return PyArray_CheckExact(given) && lazyarray_is_own((PyArrayObject *)given)
            && (PyList_CheckExact(index) || (PyArray_CheckExact(index) && lazyarray_is_own((PyArrayObject *)index)));
    }

    static npy_intp lazyarray_find_indexed(PyArrayObject *a, PyObject *index, npy_intp *taken) {
        if (PyList_CheckExact(index)) return lazyarray_find_listed(a, index, taken);
        return lazyarray_find_places(a, (PyArrayObject *)index, taken);
    }

    static int lazyarray_is_truths(PyObject *index) {
        return PyArray_CheckExact(index) && PyArray_TYPE((PyArrayObject *)index) == NPY_BOOL;
    }

    static PyObject *lazyarray_pick_at(PyObject *given, PyObject *index, PyObject *missing) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp count, taken[LAZYARRAY_FEW];
        PyObject *made;
        if (!lazyarray_is_ready()) return NULL;
        if (!lazyarray_is_indexed(given, index)) return lazyarray_missing(missing);
        if (lazyarray_is_truths(index)) {
            made = lazyarray_select_masked(a, (PyArrayObject *)index);
            return made || PyErr_Occurred() ? made : lazyarray_missing(missing);
        }
        count = lazyarray_find_indexed(a, index, taken);
        return count < 0 ? lazyarray_missing(missing) : lazyarray_gather(a, taken, count);
    }

    /* A number's bits as the array's dtype has them; 0 where NumPy is to convert it. */
    static int lazyarray_element_as(PyObject *value, PyArrayObject *a, double *number) {
        int type = PyArray_TYPE(a);
        if (PyBool_Check(value) && type == NPY_BOOL) *(npy_bool *)number = value == Py_True;
        else return lazyarray_number_as(value, type, number) >= 0;
        return 1;
    }

    static int lazyarray_put_at(PyObject *given, PyObject *index, PyObject *value) {
        PyArrayObject *a = (PyArrayObject *)given, *source = NULL;
        npy_intp count, place, size, step = 0, taken[LAZYARRAY_FEW];
        double number[2];
        char *from = (char *)number, *to;
        if (!lazyarray_is_ready()) return -1;
        if (!lazyarray_is_indexed(given, index) || !PyArray_ISWRITEABLE(a) || (PyArray_FLAGS(a) & (1 << 31))
            || (PyArray_CheckExact(index) && lazyarray_may_meet(a, (PyArrayObject *)index))) return 0;
        if (!PyArray_CheckExact(value)) {
            if (!lazyarray_element_as(value, a, number)) return 0;
        }
        else {
            source = (PyArrayObject *)value;
            if (PyArray_DESCR(source) != PyArray_DESCR(a) || PyArray_NDIM(source) != 1 || lazyarray_may_meet(a, source))
                return 0;
        }
        if (lazyarray_is_truths(index))
            return lazyarray_put_masked(a, (PyArrayObject *)index, from, source);
        count = lazyarray_find_indexed(a, index, taken);
        if (count < 0) return 0;
        if (source) {
            if (PyArray_DIM(source, 0) != count) return 0;
            from = PyArray_BYTES(source);
            step = PyArray_STRIDE(source, 0);
        }
        size = PyArray_ITEMSIZE(a);
        for (place = 0; place < count; place++, from += step) {
            to = PyArray_BYTES(a) + taken[place] * PyArray_STRIDE(a, 0);
            if (size == 8) memcpy(to, from, 8); else memcpy(to, from, size);
        }
        return 1;
    }

    /* Whether elements lie one after another. */
    static int lazyarray_is_dense(const lazyarray_region *region, npy_intp itemsize) {
        int axis;
        for (axis = region->rank - 1; axis >= 0; axis--) {
            if (region->dims[axis] != 1 && region->strides[axis] != itemsize) return 0;
            itemsize *= region->dims[axis];
        }
        return 1;
    }

    static void lazyarray_fill_region(
        const lazyarray_region *region, int axis, char *to, const char *from, npy_intp size
    ) {
        npy_intp place;
        for (place = 0; axis < region->rank && place < region->dims[axis]; place++, to += region->strides[axis]) {
            if (axis < region->rank - 1) lazyarray_fill_region(region, axis + 1, to, from, size);
            else if (size == 8) memcpy(to, from, 8);
            else memcpy(to, from, size);
        }
        if (!region->rank) memcpy(to, from, size);
    }

    static int lazyarray_write_at(PyObject *given, PyObject *key, PyObject *value) {
        PyArrayObject *a = (PyArrayObject *)given, *source = (PyArrayObject *)value;
        lazyarray_region region;
        npy_intp count = 1, itemsize;
        double number[2];
        PyObject *view;
        int axis, failed;
        if (!lazyarray_is_ready()) return -1;
        if (!PyArray_CheckExact(given) || !lazyarray_is_own(a) || !PyArray_ISWRITEABLE(a)
            || (PyArray_FLAGS(a) & (1 << 31)) || !lazyarray_find_region(a, key, &region)) return 0;
        itemsize = PyArray_ITEMSIZE(a);
        for (axis = 0; axis < region.rank; axis++) count *= region.dims[axis];
        if (!PyArray_CheckExact(value)) {
            if (count > LAZYARRAY_FEW || lazyarray_number_as(value, PyArray_TYPE(a), number) < 0) return 0;
            lazyarray_fill_region(&region, 0, region.data, (char *)number, itemsize);
            return 1;
        }
        if (PyArray_DESCR(source) != PyArray_DESCR(a) || PyArray_NDIM(source) > region.rank) return 0;
        if (PyArray_NDIM(source) == region.rank && PyArray_IS_C_CONTIGUOUS(source)
            && lazyarray_is_dense(&region, itemsize)
            && !memcmp(PyArray_DIMS(source), region.dims, region.rank * sizeof(npy_intp))) {
            memmove(region.data, PyArray_BYTES(source), count * itemsize);
            return 1;
        }
        if (!(view = lazyarray_show(a, region.rank, region.dims, region.strides, region.data))) return -1;
        failed = PyArray_CopyInto((PyArrayObject *)view, source);
        Py_DECREF(view);
        return failed < 0 ? -1 : 1;
    }
    """
    object read_at "lazyarray_read_at" (object a, object key, object missing)
    object pick_at "lazyarray_pick_at" (object a, object index, object missing)
    object show_at "lazyarray_show_at" (object a, Py_ssize_t offset, tuple shape, tuple strides)
    int put_at "lazyarray_put_at" (object a, object index, object value) except -1
    int write_at "lazyarray_write_at" (object a, object key, object value) except -1
