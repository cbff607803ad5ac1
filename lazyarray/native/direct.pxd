# Functions and methods of NumPy's that `vectors.pxd` calls in C: copies, views of another shape and new arrays.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary
from lazyarray.native.folds cimport ufunc_of
from lazyarray.native.scans cimport scan_all
from lazyarray.native.lists cimport numbers_of
from lazyarray.native.parts cimport read_at
from lazyarray.native.rolls cimport roll_small
from lazyarray.native.pads cimport pad_small
from lazyarray.native.crosses cimport cross_small
from lazyarray.native.closeness cimport near_small
from lazyarray.native.solves cimport solve_small
from lazyarray.native.single cimport clip_small

cdef extern from *:
    """
    /* What functions and methods make of `first`, the memory of an array where an array is given, and `count` arguments
       more, NULL for one that is not given though a later one is. NULL without an error: other arguments than these
       know. */
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
        int axis, from, rank = PyArray_NDIM(a), seen = 0;
        if (rank > LAZYARRAY_RANK) return NULL;
        if (count == 1 && PyTuple_CheckExact(rest[0])) {
            count = PyTuple_GET_SIZE(rest[0]);
            rest = PySequence_Fast_ITEMS(rest[0]);
            if (!count) return NULL;
        }
        if (count && count != (size_t)rank) return NULL;
        region.rank = 0;
        for (axis = 0; axis < rank; axis++) {
            from = count ? (int)lazyarray_place_in(rest[axis], rank) : rank - 1 - axis;
            if (from < 0 || seen & 1 << from) return NULL;
            seen |= 1 << from;
            lazyarray_add_axis(&region, PyArray_DIM(a, from), PyArray_STRIDE(a, from));
        }
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

    /* Whether a name may be one of numbers: NumPy warns of some of those that are not (`a10`), and is to do so once. */
    static int lazyarray_names_numbers(PyObject *name) {
        const char *text = PyUnicode_AsUTF8(name);
        if (!text) { PyErr_Clear(); return 0; }
        if (*text == '<' || *text == '>' || *text == '=' || *text == '|') text++;
        return *text && strchr("?bBcdDefFhHiIlLpPqQsu", *text);
    }

    /* The number of a type of numbers that a dtype, or its name, means in the machine's byte order; -1 for others. */
    static int lazyarray_type_named(PyObject *given) {
        PyArray_Descr *dtype = NULL;
        int type;
        if (!PyArray_DescrCheck(given) && !(PyUnicode_CheckExact(given) && lazyarray_names_numbers(given))) return -1;
        if (!PyArray_DescrConverter(given, &dtype)) { PyErr_Clear(); return -1; }
        type = dtype->type_num;
        if (!lazyarray_is_plain_type(type) || dtype != lazyarray_own(type)) type = -1;
        Py_DECREF(dtype);
        return type;
    }

    /* The number of the type that a class, a dtype or its name means; -1 for others. */
    static int lazyarray_type_of(PyObject *cls) {
        if (cls == (PyObject *)&PyFloat_Type || cls == (PyObject *)&PyFloat64ArrType_Type) return NPY_DOUBLE;
        if (cls == (PyObject *)&PyLong_Type || cls == (PyObject *)&PyInt64ArrType_Type) return NPY_INT64;
        if (cls == (PyObject *)&PyFloat32ArrType_Type) return NPY_FLOAT32;
        if (cls == (PyObject *)&PyInt32ArrType_Type) return NPY_INT32;
        return cls == (PyObject *)&PyBool_Type ? NPY_BOOL : lazyarray_type_named(cls);
    }

    /* The type that a second argument asks for, or `usual`; -1 for others. */
    static int lazyarray_asked_type(PyObject *const *rest, size_t count, int usual) {
        return !count || !rest[0] ? usual : count == 1 ? lazyarray_type_of(rest[0]) : -1;
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
        int many = lazyarray_is_listed(shape);
        PyObject *const *items = many ? PySequence_Fast_ITEMS(shape) : &shape;
        Py_ssize_t place, rank = many ? PySequence_Fast_GET_SIZE(shape) : 1, size = 1;
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

    /* Whether an order is Fortran's, of what is made; -1 for all but "C" and "F". */
    static int lazyarray_is_fortran(PyObject *order) {
        if (!PyUnicode_CheckExact(order)) return -1;
        if (!PyUnicode_CompareWithASCIIString(order, "C")) return 0;
        return PyUnicode_CompareWithASCIIString(order, "F") ? -1 : 1;
    }

    /* What a shape, the type and the order after it ask for. */
    typedef struct {
        npy_intp dims[LAZYARRAY_RANK];
        int rank, type, fortran;
    } lazyarray_form;

    static int lazyarray_read_form(
        PyObject *shape, PyObject *const *rest, size_t count, Py_ssize_t limit, lazyarray_form *form
    ) {
        form->fortran = count == 2 && rest[1] ? lazyarray_is_fortran(rest[1]) : 0;
        if (count > 2 || form->fortran < 0) return 0;
        form->type = lazyarray_asked_type(rest, count ? 1 : 0, NPY_DOUBLE);
        form->rank = form->type < 0 ? -1 : lazyarray_shape_of(shape, form->dims, limit);
        return form->rank >= 0;
    }

    static PyObject *lazyarray_do_zeros(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        lazyarray_form form;
        if (!lazyarray_read_form(first, rest, count, limit, &form)) return NULL;
        return PyArray_Zeros(form.rank, form.dims, PyArray_DescrFromType(form.type), form.fortran);
    }

    static PyObject *lazyarray_do_empty(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        lazyarray_form form;
        if (!lazyarray_read_form(first, rest, count, limit, &form)) return NULL;
        if (!form.fortran) return lazyarray_new(form.type, form.rank, form.dims);
        return PyArray_Empty(form.rank, form.dims, PyArray_DescrFromType(form.type), 1);
    }

    LAZYARRAY_VECTORS static void lazyarray_fill_ones(double *to, npy_intp count) {
        npy_intp place;
        for (place = 0; place < count; place++) to[place] = 1.0;
    }

    LAZYARRAY_VECTORS static void lazyarray_fill_places(npy_intp *to, npy_intp count, npy_intp start, npy_intp step) {
        npy_intp place;
        for (place = 0; place < count; place++) to[place] = start + place * step;
    }

    LAZYARRAY_VECTORS static void lazyarray_fill_steps(double *to, npy_intp count, double start, double step) {
        npy_intp place;
        for (place = 0; place < count; place++) to[place] = start + (double)place * step;
    }

    static PyObject *lazyarray_do_ones(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyObject *made = lazyarray_do_empty(first, rest, count, limit);
        PyArrayObject *a = (PyArrayObject *)made;
        PyObject *one;
        double number[2];
        if (!made) return NULL;
        if (PyArray_TYPE(a) == NPY_DOUBLE) {
            lazyarray_fill_ones((double *)PyArray_DATA(a), PyArray_SIZE(a));
            return made;
        }
        one = PyArray_TYPE(a) == NPY_BOOL ? PyBool_FromLong(1) : PyLong_FromLong(1);
        if (PyArray_SIZE(a) <= LAZYARRAY_FEW && lazyarray_element_as(one, a, number)) lazyarray_fill_all(a, (char *)number);
        else Py_CLEAR(made);
        Py_DECREF(one);
        return made;
    }

    static PyObject *lazyarray_do_full(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        npy_intp dims[LAZYARRAY_RANK];
        PyObject *made;
        double number[2];
        int type, rank;
        if (!count || !rest[0]) return NULL;
        type = PyFloat_CheckExact(rest[0]) ? NPY_DOUBLE
            : PyLong_CheckExact(rest[0]) ? NPY_INT64 : PyBool_Check(rest[0]) ? NPY_BOOL : -1;
        if (type >= 0) type = lazyarray_asked_type(rest + 1, count - 1, type);
        rank = type < 0 ? -1 : lazyarray_shape_of(first, dims, limit);
        if (rank < 0 || PyArray_MultiplyList(dims, rank) > LAZYARRAY_FEW) return NULL;
        if (!(made = lazyarray_new(type, rank, dims))) return NULL;
        if (!lazyarray_element_as(rest[0], (PyArrayObject *)made, number)) {
            Py_DECREF(made);
            return NULL;
        }
        lazyarray_fill_all((PyArrayObject *)made, (char *)number);
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
        PyArrayObject *a;
        npy_intp bounds[3] = {0, 0, 1}, extent;
        int type = count == 3 ? lazyarray_asked_type(rest + 2, 1, NPY_INTP) : NPY_INTP, from_zero = !count || !rest[0];
        size_t place;
        if (count > 3 || (type != NPY_INTP && type != NPY_DOUBLE)) return NULL;
        for (place = 0; place <= (count < 2 ? count : 2); place++) {
            PyObject *item = place ? rest[place - 1] : first;
            if (!item) continue;
            if (!lazyarray_is_place(item)) return NULL;
            bounds[place || !from_zero ? place : 1] = lazyarray_named_place(item);
        }
        if (PyErr_Occurred()) { PyErr_Clear(); return NULL; }
        if (!bounds[2]) return NULL;
        for (place = 0; place < 3; place++)  /* so that no difference overflows */
            if (bounds[place] > NPY_MAX_INT32 || bounds[place] < NPY_MIN_INT32) return NULL;
        extent = bounds[1] - bounds[0];
        extent = bounds[2] > 0 ? (extent + bounds[2] - 1) / bounds[2] : (extent + bounds[2] + 1) / bounds[2];
        if (extent <= 0) extent = 0;
        if (extent >= limit) return NULL;
        if (!(made = lazyarray_new(type, 1, &extent))) return NULL;
        a = (PyArrayObject *)made;
        if (type == NPY_INTP) lazyarray_fill_places((npy_intp *)PyArray_DATA(a), extent, bounds[0], bounds[2]);
        else lazyarray_fill_steps((double *)PyArray_DATA(a), extent, (double)bounds[0], (double)bounds[2]);
        return made;
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
        {"var", lazyarray_do_var}, {"std", lazyarray_do_std}, {"cumsum", lazyarray_do_cumsum},
        {"cumprod", lazyarray_do_cumprod},
        {"any", lazyarray_do_any}, {"all", lazyarray_do_all}, {"nonzero", lazyarray_do_nonzero}, {"fill", lazyarray_do_fill},
        {"item", lazyarray_do_item}, {"tobytes", lazyarray_do_tobytes}, {"swapaxes", lazyarray_do_swapaxes},
        {"diagonal", lazyarray_do_diagonal}, {"take", lazyarray_do_take}, {"repeat", lazyarray_do_repeat},
        {"clip", lazyarray_do_clip}, {NULL, NULL},
    };
    static const lazyarray_named lazyarray_functions[] = {
        {"array", lazyarray_do_array}, {"asarray", lazyarray_do_asarray}, {"asanyarray", lazyarray_do_asarray},
        {"zeros", lazyarray_do_zeros}, {"empty", lazyarray_do_empty}, {"ones", lazyarray_do_ones},
        {"zeros_like", lazyarray_do_zeros_like}, {"empty_like", lazyarray_do_empty_like},
        {"arange", lazyarray_do_arange}, {"full", lazyarray_do_full}, {NULL, NULL},
    };
    /* Functions that ask arrays alone, as methods do. */
    static const lazyarray_named lazyarray_of_arrays[] = {
        {"ravel", lazyarray_do_ravel}, {"transpose", lazyarray_do_transpose}, {"copy", lazyarray_do_duplicate},
        {"ascontiguousarray", lazyarray_do_ascontiguous}, {"asfortranarray", lazyarray_do_asfortran},
        {"where", lazyarray_do_where}, {"nonzero", lazyarray_do_nonzero}, {"sum", lazyarray_do_sum},
        {"mean", lazyarray_do_mean}, {"max", lazyarray_do_max}, {"min", lazyarray_do_min}, {"any", lazyarray_do_any},
        {"var", lazyarray_do_var}, {"std", lazyarray_do_std}, {"cumsum", lazyarray_do_cumsum},
        {"cumprod", lazyarray_do_cumprod}, {"all", lazyarray_do_all}, {"swapaxes", lazyarray_do_swapaxes},
        {"diagonal", lazyarray_do_diagonal}, {"take", lazyarray_do_take}, {"repeat", lazyarray_do_repeat},
        {"diag", lazyarray_do_diagonal}, {"roll", lazyarray_do_roll}, {"pad", lazyarray_do_pad},
        {"cross", lazyarray_do_cross},
        {"isclose", lazyarray_do_isclose}, {"allclose", lazyarray_do_allclose}, {"clip", lazyarray_do_clip},
        {"diff", lazyarray_do_diff}, {"outer", lazyarray_do_outer}, {NULL, NULL},
    };
    static const lazyarray_named lazyarray_of_linalg[] = {
        {"inv", lazyarray_do_inv}, {"det", lazyarray_do_det}, {"solve", lazyarray_do_solve}, {"norm", lazyarray_do_norm},
        {NULL, NULL},
    };

    #define LAZYARRAY_NAMED 5
    /* The names of arguments by place, NULL at those that have none here. */
    static const struct {
        lazyarray_direct run;
        const char *names[LAZYARRAY_NAMED];
    } lazyarray_arguments[] = {
        {lazyarray_do_array, {NULL, "dtype"}}, {lazyarray_do_asarray, {NULL, "dtype"}},
        {lazyarray_do_zeros, {"shape", "dtype", "order"}}, {lazyarray_do_empty, {"shape", "dtype", "order"}},
        {lazyarray_do_ones, {"shape", "dtype", "order"}}, {lazyarray_do_full, {"shape", "fill_value", "dtype"}},
        {lazyarray_do_zeros_like, {NULL, "dtype"}}, {lazyarray_do_empty_like, {NULL, "dtype"}},
        {lazyarray_do_arange, {NULL, "stop", "step", "dtype"}}, {lazyarray_do_astype, {NULL, "dtype"}},
        {lazyarray_do_roll, {NULL, NULL, "axis"}}, {lazyarray_do_pad, {NULL, NULL, "mode", "constant_values"}},
        {lazyarray_do_isclose, {NULL, NULL, "rtol", "atol", "equal_nan"}},
        {lazyarray_do_allclose, {NULL, NULL, "rtol", "atol", "equal_nan"}}, {NULL, {NULL}},
    };

    static const char *const *lazyarray_names_of(void *direct) {
        size_t k = 0;
        while (lazyarray_arguments[k].run && lazyarray_arguments[k].run != (lazyarray_direct)direct) k++;
        return lazyarray_arguments[k].names;
    }

    /* Whether a named argument asks for what is done without it, too. */
    static int lazyarray_is_usual(void *direct, PyObject *name, PyObject *value) {
        if ((lazyarray_direct)direct != lazyarray_do_array) return 0;
        return value == Py_True ? !PyUnicode_CompareWithASCIIString(name, "copy")
            : value == Py_False && !PyUnicode_CompareWithASCIIString(name, "subok");
    }

    /* Arguments each at its place, also those that are named; NULL for those that are left out between them. How many
       places that takes; 0 where what runs knows no such names, or does not do without what is left out. */
    static size_t lazyarray_lay_out(
        void *direct, PyObject *const *args, size_t given, PyObject *names, PyObject **laid, size_t most
    ) {
        const char *const *known = lazyarray_names_of(direct);
        size_t count = (size_t)PyTuple_GET_SIZE(names), total = given, place, k;
        if (most > LAZYARRAY_NAMED) most = LAZYARRAY_NAMED;
        if (given > most) return 0;
        for (place = 0; place < most; place++) laid[place] = place < given ? args[place] : NULL;
        for (k = 0; k < count; k++) {
            PyObject *name = PyTuple_GET_ITEM(names, k);
            if (lazyarray_is_usual(direct, name, args[given + k])) continue;
            for (place = given; place < most; place++)
                if (known[place] && !PyUnicode_CompareWithASCIIString(name, known[place])) break;
            if (place == most) return 0;
            laid[place] = args[given + k];
            if (place >= total) total = place + 1;
        }
        for (place = given; place < total; place++) if (!known[place]) return 0;
        return total && laid[0] ? total : 0;
    }

    static lazyarray_direct lazyarray_run_named(const lazyarray_named *table, PyObject *name) {
        while (table->name && PyUnicode_CompareWithASCIIString(name, table->name)) table++;
        return table->run;
    }

    /* Whether a module of NumPy's has this very function under the name. */
    static int lazyarray_is_public(const char *module, PyObject *name, PyObject *source) {
        PyObject *home = PyImport_ImportModule(module), *public = home ? PyObject_GetAttr(home, name) : NULL;
        int same = public == source;
        if (PyErr_Occurred()) PyErr_Clear();
        Py_XDECREF(public);
        Py_XDECREF(home);
        return same;
    }

    /* What runs in the place of NumPy's `source`; NULL where there is none. `asks`: whether its first argument has to
       be an array. */
    static void *lazyarray_direct_of(PyObject *source, int *asks) {
        static const struct { const char *module; const lazyarray_named *table; int asks; } functions[] = {
            {"numpy", lazyarray_of_arrays, 1}, {"numpy", lazyarray_functions, 0}, {"numpy.linalg", lazyarray_of_linalg, 1},
        };
        PyObject *name;
        lazyarray_direct found = NULL;
        int method = Py_IS_TYPE(source, &PyMethodDescr_Type), k;
        *asks = 1;
        if (!lazyarray_is_ready() || !(name = PyObject_GetAttrString(source, "__name__"))) return NULL;
        if (method) found = lazyarray_run_named(lazyarray_methods, name);
        for (k = 0; k < (method ? 0 : 3) && !found; k++) {
            *asks = functions[k].asks;
            found = lazyarray_run_named(functions[k].table, name);
            if (found && !lazyarray_is_public(functions[k].module, name, source)) found = NULL;
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
    size_t lay_out "lazyarray_lay_out" (
        void *direct, PyObject **args, size_t given, PyObject *names, PyObject **laid, size_t most
    )
    void *direct_of "lazyarray_direct_of" (object source, int *asks) except? NULL
    PyObject *run_direct "lazyarray_run_direct" (
        void *direct, PyObject *first, PyObject **rest, size_t count, Py_ssize_t limit, PyObject *refused
    ) except NULL
