# C's side of `direct.py`, and the functions and methods of NumPy's that `vectors.pxd` calls so.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary
from lazyarray.native.folds cimport ufunc_of
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

    /* Arrays and indices that are looked at here. */
    static int lazyarray_is_indexed(PyObject *given, PyObject *index) {
        return PyArray_CheckExact(given) && PyArray_CheckExact(index) && lazyarray_is_own((PyArrayObject *)given)
            && lazyarray_is_own((PyArrayObject *)index);
    }

    static PyObject *lazyarray_pick_at(PyObject *given, PyObject *index, PyObject *missing) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp count, taken[LAZYARRAY_FEW];
        PyObject *made;
        if (!lazyarray_is_ready()) return NULL;
        if (!lazyarray_is_indexed(given, index)) return lazyarray_missing(missing);
        if (PyArray_TYPE((PyArrayObject *)index) == NPY_BOOL) {
            made = lazyarray_select_masked(a, (PyArrayObject *)index);
            return made || PyErr_Occurred() ? made : lazyarray_missing(missing);
        }
        count = lazyarray_find_places(a, (PyArrayObject *)index, taken);
        return count < 0 ? lazyarray_missing(missing) : lazyarray_gather(a, taken, count);
    }

    /* A number's bits as the array's dtype has them; 0 where NumPy is to convert it. */
    static int lazyarray_element_as(PyObject *value, PyArrayObject *a, double *number) {
        int type = PyArray_TYPE(a);
        if (PyBool_Check(value) && type == NPY_BOOL) *(npy_bool *)number = value == Py_True;
        else if (PyLong_CheckExact(value) && type == NPY_CDOUBLE) {
            number[1] = 0.0;
            return lazyarray_number_as(value, NPY_DOUBLE, number) >= 0;
        }
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
            || lazyarray_may_meet(a, (PyArrayObject *)index)) return 0;
        if (!PyArray_CheckExact(value)) {
            if (!lazyarray_element_as(value, a, number)) return 0;
        }
        else {
            source = (PyArrayObject *)value;
            if (PyArray_DESCR(source) != PyArray_DESCR(a) || PyArray_NDIM(source) != 1 || lazyarray_may_meet(a, source))
                return 0;
        }
        if (PyArray_TYPE((PyArrayObject *)index) == NPY_BOOL)
            return lazyarray_put_masked(a, (PyArrayObject *)index, from, source);
        count = lazyarray_find_places(a, (PyArrayObject *)index, taken);
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

    /* What functions and methods make of `first`, the memory of an array where an array is given, and `count` arguments
       more. NULL without an error: other arguments than these know. */
    typedef PyObject *(*lazyarray_direct)(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit);

    /* `rank`: of the copy; 1 also for one that is flat. */
    static PyObject *lazyarray_copy(PyArrayObject *a, int rank, npy_intp *dims) {
        PyObject *made = lazyarray_new(PyArray_TYPE(a), rank, dims);
        if (made) memcpy(PyArray_BYTES((PyArrayObject *)made), PyArray_BYTES(a), PyArray_NBYTES(a));
        return made;
    }

    static PyObject *lazyarray_do_copy(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (count) return NULL;
        if (!PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return PyArray_NewCopy(a, NPY_CORDER);
        return lazyarray_copy(a, PyArray_NDIM(a), PyArray_DIMS(a));
    }

    static PyObject *lazyarray_do_flatten(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_intp size;
        if (count) return NULL;
        if (!PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return PyArray_Flatten(a, NPY_CORDER);
        size = PyArray_SIZE(a);
        return lazyarray_copy(a, 1, &size);
    }

    static PyObject *lazyarray_do_ravel(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_intp size;
        if (count) return NULL;
        if (!PyArray_IS_C_CONTIGUOUS(a)) return PyArray_Ravel(a, NPY_CORDER);
        size = PyArray_NDIM(a) == 1 ? PyArray_DIM(a, 0) : PyArray_SIZE(a);
        return lazyarray_show(a, 1, &size, NULL, PyArray_BYTES(a));
    }

    static PyObject *lazyarray_do_transpose(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        lazyarray_region region;
        int axis, rank = PyArray_NDIM(a);
        if (count || rank > LAZYARRAY_RANK) return NULL;
        region.rank = 0;
        for (axis = rank - 1; axis >= 0; axis--)
            lazyarray_add_axis(&region, PyArray_DIM(a, axis), PyArray_STRIDE(a, axis));
        return lazyarray_show(a, rank, region.dims, region.strides, PyArray_BYTES(a));
    }

    static PyObject *lazyarray_do_swapaxes(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        lazyarray_region region;
        npy_intp axes[2];
        int axis, rank = PyArray_NDIM(a);
        if (count != 2 || rank > LAZYARRAY_RANK) return NULL;
        for (axis = 0; axis < 2; axis++) {
            axes[axis] = lazyarray_place_in(rest[axis], rank);
            if (axes[axis] < 0) return NULL;
        }
        region.rank = 0;
        for (axis = 0; axis < rank; axis++) {
            int from = axis == axes[0] ? (int)axes[1] : axis == axes[1] ? (int)axes[0] : axis;
            lazyarray_add_axis(&region, PyArray_DIM(a, from), PyArray_STRIDE(a, from));
        }
        return lazyarray_show(a, rank, region.dims, region.strides, PyArray_BYTES(a));
    }

    /* Read-only, as NumPy's. */
    static PyObject *lazyarray_do_diagonal(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_intp extent, stride;
        PyObject *made;
        if (count || PyArray_NDIM(a) != 2) return NULL;
        extent = PyArray_DIM(a, 0) < PyArray_DIM(a, 1) ? PyArray_DIM(a, 0) : PyArray_DIM(a, 1);
        stride = PyArray_STRIDE(a, 0) + PyArray_STRIDE(a, 1);
        made = lazyarray_show(a, 1, &extent, &stride, PyArray_BYTES(a));
        if (made) PyArray_CLEARFLAGS((PyArrayObject *)made, NPY_ARRAY_WRITEABLE);
        return made;
    }

    static PyObject *lazyarray_do_take(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_intp found, taken[LAZYARRAY_FEW];
        if (count != 1 || !lazyarray_is_own(a)) return NULL;
        if (PyArray_CheckExact(rest[0])) found = lazyarray_find_places(a, (PyArrayObject *)rest[0], taken);
        else if (lazyarray_is_listed(rest[0])) found = lazyarray_find_listed(a, rest[0], taken);
        else return NULL;
        return found < 0 ? NULL : lazyarray_gather(a, taken, found);
    }

    static PyObject *lazyarray_do_repeat(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_intp times, size, total, place, again, item = PyArray_ITEMSIZE(a);
        const char *from = PyArray_BYTES(a);
        PyObject *made;
        char *to;
        if (count != 1 || !lazyarray_is_place(rest[0]) || !PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return NULL;
        times = lazyarray_named_place(rest[0]);
        size = PyArray_SIZE(a);
        if (times < 0 || times >= limit || size * times >= limit) { PyErr_Clear(); return NULL; }
        total = size * times;
        if (total > LAZYARRAY_FEW || !(made = lazyarray_new(PyArray_TYPE(a), 1, &total))) return NULL;
        to = PyArray_BYTES((PyArrayObject *)made);
        for (place = 0; place < size; place++, from += item)
            for (again = 0; again < times; again++, to += item)
                if (item == 8) memcpy(to, from, 8); else memcpy(to, from, item);
        return made;
    }

    static PyObject *lazyarray_do_argsort(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (count || !PyArray_NDIM(a) || !lazyarray_is_own(a)) return NULL;
        return PyArray_ArgSort(a, -1, NPY_QUICKSORT);
    }

    /* The number of the type that a class means for which there are many names; -1 for others. */
    static int lazyarray_type_of(PyObject *cls) {
        if (cls == (PyObject *)&PyFloat_Type || cls == (PyObject *)&PyFloat64ArrType_Type) return NPY_DOUBLE;
        if (cls == (PyObject *)&PyLong_Type || cls == (PyObject *)&PyInt64ArrType_Type) return NPY_INT64;
        if (cls == (PyObject *)&PyFloat32ArrType_Type) return NPY_FLOAT32;
        if (cls == (PyObject *)&PyInt32ArrType_Type) return NPY_INT32;
        return cls == (PyObject *)&PyBool_Type ? NPY_BOOL : -1;
    }

    /* The type that a second argument asks for, or `usual`; -1 for others. */
    static int lazyarray_asked_type(PyObject *const *rest, size_t count, int usual) {
        return !count ? usual : count == 1 ? lazyarray_type_of(rest[0]) : -1;
    }

    static PyObject *lazyarray_do_astype(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        PyObject *made;
        int type = lazyarray_asked_type(rest, count, -1);
        if (type < 0 || !PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a) || PyArray_ISCOMPLEX(a)) return NULL;
        if (type == PyArray_TYPE(a)) return lazyarray_copy(a, PyArray_NDIM(a), PyArray_DIMS(a));
        made = lazyarray_new(type, PyArray_NDIM(a), PyArray_DIMS(a));
        if (made && PyArray_CopyInto((PyArrayObject *)made, a) < 0) Py_CLEAR(made);
        return made;
    }

    static PyObject *lazyarray_do_view(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (count) return NULL;
        return lazyarray_show(a, PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), PyArray_BYTES(a));
    }

    static PyObject *lazyarray_do_squeeze(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        int axis = PyArray_NDIM(a);
        if (count) return NULL;
        while (axis > 0 && PyArray_DIM(a, axis - 1) != 1) axis--;
        if (axis) return PyArray_Squeeze(a);
        Py_INCREF(first);
        return first;
    }

    /* A shape of plain integers, `limit` of them at most; -1 for others. */
    static int lazyarray_shape_of(PyObject *shape, npy_intp *dims, Py_ssize_t limit) {
        int many = PyTuple_CheckExact(shape);
        PyObject *const *items = many ? ((PyTupleObject *)shape)->ob_item : &shape;
        Py_ssize_t place, rank = many ? PyTuple_GET_SIZE(shape) : 1, size = 1;
        if (rank > LAZYARRAY_RANK) return -1;
        for (place = 0; place < rank; place++) {
            if (!lazyarray_is_place(items[place])) return -1;
            dims[place] = lazyarray_named_place(items[place]);
            if (dims[place] < 0 || dims[place] >= limit) { PyErr_Clear(); return -1; }
            size *= dims[place];
            if (size >= limit) return -1;
        }
        return size < limit ? (int)rank : -1;
    }

    static PyObject *lazyarray_do_reshape(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        PyObject *const *items = rest;
        npy_intp dims[LAZYARRAY_RANK], known = 1, size;
        size_t axis;
        int unknown = -1, same;
        if (count == 1 && PyTuple_CheckExact(rest[0])) {
            items = ((PyTupleObject *)rest[0])->ob_item;
            count = PyTuple_GET_SIZE(rest[0]);
        }
        size = PyArray_SIZE(a);
        if (!PyArray_IS_C_CONTIGUOUS(a) || count < 1 || count > LAZYARRAY_RANK || !size) return NULL;
        for (axis = 0; axis < count; axis++) {
            if (!PyLong_CheckExact(items[axis])) return NULL;
            dims[axis] = PyLong_AsSsize_t(items[axis]);
            if (dims[axis] == -1 && !PyErr_Occurred() && unknown < 0) { unknown = (int)axis; continue; }
            if (dims[axis] <= 0 || dims[axis] > size) { PyErr_Clear(); return NULL; }
            known *= dims[axis];
            if (known > size) return NULL;
        }
        if (unknown >= 0) { dims[unknown] = size / known; known *= dims[unknown]; }
        if (known != size) return NULL;
        /* What keeps its shape keeps the strides, also those along axes of one element. */
        same = unknown < 0 && (int)count == PyArray_NDIM(a) && !memcmp(dims, PyArray_DIMS(a), count * sizeof(npy_intp));
        return lazyarray_show(a, (int)count, dims, same ? PyArray_STRIDES(a) : NULL, PyArray_BYTES(a));
    }

    static PyObject *lazyarray_do_zeros(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        npy_intp dims[LAZYARRAY_RANK];
        int type = lazyarray_asked_type(rest, count, NPY_DOUBLE);
        int rank = type < 0 ? -1 : lazyarray_shape_of(first, dims, limit);
        return rank < 0 ? NULL : PyArray_Zeros(rank, dims, PyArray_DescrFromType(type), 0);
    }

    static PyObject *lazyarray_do_empty(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        npy_intp dims[LAZYARRAY_RANK];
        int type = lazyarray_asked_type(rest, count, NPY_DOUBLE);
        int rank = type < 0 ? -1 : lazyarray_shape_of(first, dims, limit);
        return rank < 0 ? NULL : lazyarray_new(type, rank, dims);
    }

    LAZYARRAY_VECTORS static void lazyarray_fill_ones(double *to, npy_intp count) {
        npy_intp place;
        for (place = 0; place < count; place++) to[place] = 1.0;
    }

    LAZYARRAY_VECTORS static void lazyarray_fill_places(npy_intp *to, npy_intp count, npy_intp start, npy_intp step) {
        npy_intp place;
        for (place = 0; place < count; place++) to[place] = start + place * step;
    }

    static PyObject *lazyarray_do_ones(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyObject *made = count ? NULL : lazyarray_do_empty(first, rest, count, limit);
        if (made) lazyarray_fill_ones((double *)PyArray_DATA((PyArrayObject *)made), PyArray_SIZE((PyArrayObject *)made));
        return made;
    }

    static PyObject *lazyarray_do_empty_like(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        int type;
        if (!PyArray_CheckExact(first) || !PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return NULL;
        type = lazyarray_asked_type(rest, count, PyArray_TYPE(a));
        return type < 0 ? NULL : lazyarray_new(type, PyArray_NDIM(a), PyArray_DIMS(a));
    }

    static PyObject *lazyarray_do_zeros_like(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyObject *made = lazyarray_do_empty_like(first, rest, count, limit);
        if (made) memset(PyArray_DATA((PyArrayObject *)made), 0, PyArray_NBYTES((PyArrayObject *)made));
        return made;
    }

    static PyObject *lazyarray_do_arange(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyObject *made;
        npy_intp bounds[3] = {0, 0, 1}, extent;
        size_t place;
        if (count > 2) return NULL;
        for (place = 0; place <= count; place++) {
            PyObject *item = place ? rest[place - 1] : first;
            if (!lazyarray_is_place(item)) return NULL;
            bounds[count ? place : 1] = lazyarray_named_place(item);
        }
        if (PyErr_Occurred()) { PyErr_Clear(); return NULL; }
        if (!bounds[2]) return NULL;
        for (place = 0; place < 3; place++)  /* so that no difference overflows */
            if (bounds[place] > NPY_MAX_INT32 || bounds[place] < NPY_MIN_INT32) return NULL;
        extent = bounds[1] - bounds[0];
        extent = bounds[2] > 0 ? (extent + bounds[2] - 1) / bounds[2] : (extent + bounds[2] + 1) / bounds[2];
        if (extent <= 0) extent = 0;
        if (extent >= limit) return NULL;
        if (!(made = lazyarray_new(NPY_INTP, 1, &extent))) return NULL;
        lazyarray_fill_places((npy_intp *)PyArray_DATA((PyArrayObject *)made), extent, bounds[0], bounds[2]);
        return made;
    }

    /* NumPy's float64 is a kind of Python's float, and lies as it does. */
    static int lazyarray_is_float(PyObject *item) {
        return PyFloat_CheckExact(item) || Py_IS_TYPE(item, &PyFloat64ArrType_Type);
    }

    /* The elements of a list or tuple: its numbers are counted by kind, and rows as those of an outer one. */
    static int lazyarray_count_numbers(PyObject *items, npy_intp *count, npy_intp *integers, npy_intp *truths) {
        PyObject *const *item = PySequence_Fast_ITEMS(items);
        npy_intp place;
        *count += PySequence_Fast_GET_SIZE(items);
        if (*count > LAZYARRAY_FEW) return 0;
        for (place = 0; place < PySequence_Fast_GET_SIZE(items); place++) {
            if (PyLong_CheckExact(item[place])) (*integers)++;
            else if (PyBool_Check(item[place])) (*truths)++;
            else if (!lazyarray_is_float(item[place])) return 0;
        }
        return 1;
    }

    /* Writes numbers one after another; 0 where one does not fit. */
    static int lazyarray_store_numbers(PyObject *items, int type, char **to) {
        npy_intp place;
        int over;
        for (place = 0; place < PySequence_Fast_GET_SIZE(items); place++, *to += type == NPY_BOOL ? 1 : 8) {
            PyObject *item = PySequence_Fast_ITEMS(items)[place];
            if (type == NPY_BOOL) { **to = item == Py_True; continue; }
            if (type == NPY_DOUBLE && lazyarray_is_float(item)) *(double *)*to = PyFloat_AS_DOUBLE(item);
            else {
                long number = PyLong_AsLongAndOverflow(item, &over);
                if (over) return 0;
                if (type == NPY_DOUBLE) *(double *)*to = (double)number;
                else *(npy_int64 *)*to = number;
            }
        }
        return 1;
    }

    /* An array of the floats of a list or of its rows, or of integers of a machine word, or of truth values alone: NULL
       for all others. `asked`: a type, or -1 for that of the numbers. */
    static PyObject *lazyarray_of_items(PyObject *items, int asked) {
        PyObject *const *rows = PySequence_Fast_ITEMS(items), *made;
        npy_intp dims[2], count = 0, integers = 0, truths = 0, place;
        int nested, type, stored = 1;
        char *to;
        dims[0] = PySequence_Fast_GET_SIZE(items);
        if (!dims[0] && (asked < 0 || asked == NPY_DOUBLE)) return lazyarray_new(NPY_DOUBLE, 1, dims);
        if (!dims[0] || dims[0] > LAZYARRAY_FEW) return NULL;
        nested = lazyarray_is_listed(rows[0]);
        dims[1] = nested ? PySequence_Fast_GET_SIZE(rows[0]) : 1;
        if (!dims[1]) return NULL;
        if (!nested && !lazyarray_count_numbers(items, &count, &integers, &truths)) return NULL;
        for (place = 0; nested && place < dims[0]; place++)
            if (!lazyarray_is_listed(rows[place]) || PySequence_Fast_GET_SIZE(rows[place]) != dims[1]
                || !lazyarray_count_numbers(rows[place], &count, &integers, &truths)) return NULL;
        if (truths && (truths != count || asked >= 0)) return NULL;
        type = truths ? NPY_BOOL : integers == count ? NPY_INT64 : NPY_DOUBLE;
        if (asked >= 0 && asked != type) {
            if (asked != NPY_DOUBLE) return NULL;
            type = asked;
        }
        if (!(made = lazyarray_new(type, nested ? 2 : 1, dims))) return NULL;
        to = PyArray_BYTES((PyArrayObject *)made);
        if (!nested) stored = lazyarray_store_numbers(items, type, &to);
        for (place = 0; nested && stored && place < dims[0]; place++)
            stored = lazyarray_store_numbers(rows[place], type, &to);
        if (!stored) Py_CLEAR(made);
        return made;
    }

    /* The array that NumPy makes of a list or tuple of arrays of one shape and one dtype of its own, in C order. */
    static PyObject *lazyarray_stack_of(PyObject *items, PyObject *missing) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(items), place;
        PyObject *const *rows = PySequence_Fast_ITEMS(items), *made;
        PyArrayObject *first;
        npy_intp dims[LAZYARRAY_RANK + 1], bytes;
        int axis;
        if (!lazyarray_is_ready()) return NULL;
        if (!count || !PyArray_CheckExact(rows[0])) return lazyarray_missing(missing);
        first = (PyArrayObject *)rows[0];
        if (PyArray_NDIM(first) >= LAZYARRAY_RANK || !lazyarray_is_own(first)) return lazyarray_missing(missing);
        dims[0] = count;
        for (axis = 0; axis < PyArray_NDIM(first); axis++) dims[axis + 1] = PyArray_DIM(first, axis);
        for (place = 0; place < count; place++) {
            PyArrayObject *row = (PyArrayObject *)rows[place];
            if (!PyArray_CheckExact(rows[place]) || PyArray_DESCR(row) != PyArray_DESCR(first)
                || !PyArray_IS_C_CONTIGUOUS(row) || !PyArray_SAMESHAPE(row, first)) return lazyarray_missing(missing);
        }
        if (!(made = lazyarray_new(PyArray_TYPE(first), PyArray_NDIM(first) + 1, dims))) return NULL;
        bytes = PyArray_NBYTES(first);
        for (place = 0; place < count; place++)
            memcpy(PyArray_BYTES((PyArrayObject *)made) + place * bytes, PyArray_BYTES((PyArrayObject *)rows[place]), bytes);
        return made;
    }

    static PyObject *lazyarray_numbers_of(PyObject *items, PyObject *missing) {
        PyObject *found;
        if (!lazyarray_is_ready()) return NULL;
        found = lazyarray_of_items(items, -1);
        return found || PyErr_Occurred() ? found : lazyarray_missing(missing);
    }

    /* The same as float64. */
    static PyObject *lazyarray_floats_of(PyObject *items, PyObject *missing) {
        PyObject *found;
        if (!lazyarray_is_ready()) return NULL;
        found = lazyarray_of_items(items, NPY_DOUBLE);
        return found || PyErr_Occurred() ? found : lazyarray_missing(missing);
    }

    static PyObject *lazyarray_do_asarray(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        int type;
        if (!count && PyArray_CheckExact(first)) { Py_INCREF(first); return first; }
        type = count ? lazyarray_asked_type(rest, count, -1) : -1;
        if (count && type < 0) return NULL;
        if (lazyarray_is_listed(first)) return lazyarray_of_items(first, type);
        if (!PyArray_CheckExact(first)) return NULL;
        if (type >= 0 && (!lazyarray_is_own(a) || PyArray_TYPE(a) != type))
            return lazyarray_do_astype(first, rest, count, limit);
        Py_INCREF(first);
        return first;
    }

    static PyObject *lazyarray_do_array(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (!PyArray_CheckExact(first)) return lazyarray_do_asarray(first, rest, count, limit);
        if (count) return lazyarray_do_astype(first, rest, count, limit);
        if (!PyArray_IS_C_CONTIGUOUS(a) || !lazyarray_is_own(a)) return PyArray_NewCopy(a, NPY_KEEPORDER);
        return lazyarray_copy(a, PyArray_NDIM(a), PyArray_DIMS(a));
    }

    static PyObject *lazyarray_do_duplicate(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        return count ? NULL : lazyarray_do_array(first, rest, count, limit);
    }

    static PyObject *lazyarray_do_ascontiguous(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (count || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_NDIM(a)) return NULL;
        Py_INCREF(first);
        return first;
    }

    static PyObject *lazyarray_do_asfortran(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        if (count || !PyArray_IS_F_CONTIGUOUS(a) || !PyArray_NDIM(a)) return NULL;
        Py_INCREF(first);
        return first;
    }

    static PyObject *lazyarray_do_fill(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        if (count != 1 || !(PyFloat_CheckExact(rest[0]) || PyLong_CheckExact(rest[0]))) return NULL;
        if (PyArray_FillWithScalar((PyArrayObject *)first, rest[0]) < 0) return NULL;
        Py_RETURN_NONE;
    }

    static PyObject *lazyarray_do_item(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        char *place = PyArray_BYTES(a);
        if (count > 1 || !lazyarray_is_own(a)) return NULL;
        if (!count && PyArray_SIZE(a) != 1) return NULL;
        if (count && (PyArray_NDIM(a) != 1 || !PyLong_CheckExact(rest[0])
            || !(place = lazyarray_seek_element(first, rest[0])))) return NULL;
        return PyArray_GETITEM(a, place);
    }

    static PyObject *lazyarray_do_tobytes(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        return count ? NULL : PyArray_ToString((PyArrayObject *)first, NPY_CORDER);
    }

    typedef struct {
        const char *name;
        lazyarray_direct run;
    } lazyarray_named;

    /* Methods ask arrays alone. */
    static const lazyarray_named lazyarray_methods[] = {
        {"copy", lazyarray_do_copy}, {"flatten", lazyarray_do_flatten}, {"ravel", lazyarray_do_ravel},
        {"transpose", lazyarray_do_transpose}, {"reshape", lazyarray_do_reshape}, {"argsort", lazyarray_do_argsort},
        {"astype", lazyarray_do_astype}, {"view", lazyarray_do_view}, {"squeeze", lazyarray_do_squeeze},
        {"sum", lazyarray_do_sum}, {"mean", lazyarray_do_mean}, {"max", lazyarray_do_max}, {"min", lazyarray_do_min},
        {"any", lazyarray_do_any}, {"all", lazyarray_do_all}, {"nonzero", lazyarray_do_nonzero}, {"fill", lazyarray_do_fill},
        {"item", lazyarray_do_item}, {"tobytes", lazyarray_do_tobytes}, {"swapaxes", lazyarray_do_swapaxes},
        {"diagonal", lazyarray_do_diagonal}, {"take", lazyarray_do_take}, {"repeat", lazyarray_do_repeat}, {NULL, NULL},
    };
    static const lazyarray_named lazyarray_functions[] = {
        {"array", lazyarray_do_array}, {"asarray", lazyarray_do_asarray}, {"asanyarray", lazyarray_do_asarray},
        {"zeros", lazyarray_do_zeros}, {"empty", lazyarray_do_empty}, {"ones", lazyarray_do_ones},
        {"zeros_like", lazyarray_do_zeros_like}, {"empty_like", lazyarray_do_empty_like},
        {"arange", lazyarray_do_arange}, {NULL, NULL},
    };
    /* Functions that ask arrays alone, as methods do. */
    static const lazyarray_named lazyarray_of_arrays[] = {
        {"ravel", lazyarray_do_ravel}, {"transpose", lazyarray_do_transpose}, {"copy", lazyarray_do_duplicate},
        {"ascontiguousarray", lazyarray_do_ascontiguous}, {"asfortranarray", lazyarray_do_asfortran},
        {"where", lazyarray_do_where}, {"nonzero", lazyarray_do_nonzero}, {"sum", lazyarray_do_sum},
        {"mean", lazyarray_do_mean}, {"max", lazyarray_do_max}, {"min", lazyarray_do_min}, {"any", lazyarray_do_any},
        {"all", lazyarray_do_all}, {"swapaxes", lazyarray_do_swapaxes}, {"diagonal", lazyarray_do_diagonal},
        {"take", lazyarray_do_take}, {"repeat", lazyarray_do_repeat}, {NULL, NULL},
    };

    /* Whether what runs takes a dtype as its second argument. */
    static int lazyarray_takes_dtype(void *direct) {
        lazyarray_direct run = (lazyarray_direct)direct;
        return run == lazyarray_do_array || run == lazyarray_do_asarray || run == lazyarray_do_zeros
            || run == lazyarray_do_empty || run == lazyarray_do_zeros_like || run == lazyarray_do_empty_like
            || run == lazyarray_do_astype;
    }

    /* What runs in the place of NumPy's `source`; NULL where there is none. `asks`: whether its first argument has to
       be an array. */
    static void *lazyarray_direct_of(PyObject *source, int *asks) {
        const lazyarray_named *tables[2], *entry;
        PyObject *numpy, *name, *public;
        lazyarray_direct found = NULL;
        int method = Py_IS_TYPE(source, &PyMethodDescr_Type), k;
        *asks = 1;
        if (!lazyarray_is_ready() || !(name = PyObject_GetAttrString(source, "__name__"))) return NULL;
        tables[0] = method ? lazyarray_methods : lazyarray_of_arrays;
        tables[1] = lazyarray_functions;
        for (k = 0; k < (method ? 1 : 2) && !found; k++)
            for (entry = tables[k]; entry->name && !found; entry++)
                if (!PyUnicode_CompareWithASCIIString(name, entry->name)) { found = entry->run; *asks = !k; }
        if (found && !method) {
            numpy = PyImport_ImportModule("numpy");
            public = numpy ? PyObject_GetAttr(numpy, name) : NULL;
            if (public != source) found = NULL;
            Py_XDECREF(public);
            Py_XDECREF(numpy);
        }
        Py_DECREF(name);
        return (void *)found;
    }

    static PyObject *lazyarray_run_direct(
        void *direct, PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit, PyObject *refused
    ) {
        PyObject *found = ((lazyarray_direct)direct)(first, rest, count, limit);
        return found || PyErr_Occurred() ? found : refused;
    }
    """
    object read_at "lazyarray_read_at" (object a, object key, object missing)
    object pick_at "lazyarray_pick_at" (object a, object index, object missing)
    object show_at "lazyarray_show_at" (object a, Py_ssize_t offset, tuple shape, tuple strides)
    object numbers_of "lazyarray_numbers_of" (object items, object missing)
    object floats_of "lazyarray_floats_of" (object items, object missing)
    object stack_of "lazyarray_stack_of" (object items, object missing)
    int put_at "lazyarray_put_at" (object a, object index, object value) except -1
    int write_at "lazyarray_write_at" (object a, object key, object value) except -1
    bint takes_dtype "lazyarray_takes_dtype" (void *direct)
    void *direct_of "lazyarray_direct_of" (object source, int *asks) except? NULL
    PyObject *run_direct "lazyarray_run_direct" (
        void *direct, PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit, PyObject *refused
    ) except NULL
