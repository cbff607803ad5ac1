# C's side of `maps.py`.
cdef extern from *:
    """
    #define LAZYARRAY_MAP_AXES 64  /* `index_map.MOST_AXES` */

    typedef struct {
        int rank;
        Py_ssize_t offset, extents[LAZYARRAY_MAP_AXES], strides[LAZYARRAY_MAP_AXES];
    } lazyarray_map;

    /* What a map says, or of a shape that of all of it in C order; 0 where that has too many axes or is no such thing. */
    static int lazyarray_read_map(PyObject *view, PyObject *shape, lazyarray_map *found) {
        PyObject *strides = NULL;
        Py_ssize_t axis, step = 1;
        found->offset = 0;
        if (view != Py_None) {
            found->offset = PyLong_AsSsize_t(PyTuple_GET_ITEM(view, 0));
            shape = PyTuple_GET_ITEM(view, 1);
            strides = PyTuple_GET_ITEM(view, 2);
        }
        if (PyTuple_GET_SIZE(shape) > LAZYARRAY_MAP_AXES) return 0;
        found->rank = (int)PyTuple_GET_SIZE(shape);
        for (axis = found->rank - 1; axis >= 0; axis--) {
            Py_ssize_t extent = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            found->extents[axis] = extent;
            found->strides[axis] = strides ? PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis)) : step;
            if (extent > 1) step *= extent;
        }
        if (PyErr_Occurred()) { PyErr_Clear(); return 0; }
        return 1;
    }

    static PyObject *lazyarray_numbers(const Py_ssize_t *from, int count) {
        PyObject *made = PyTuple_New(count), *number;
        int place;
        for (place = 0; made && place < count; place++) {
            if (!(number = PyLong_FromSsize_t(from[place]))) { Py_CLEAR(made); break; }
            PyTuple_SET_ITEM(made, place, number);
        }
        return made;
    }

    static PyObject *lazyarray_make_map(PyObject *cls, const lazyarray_map *map) {
        PyObject *offset = PyLong_FromSsize_t(map->offset), *shape = lazyarray_numbers(map->extents, map->rank);
        PyObject *strides = lazyarray_numbers(map->strides, map->rank), *made = NULL;
        if (offset && shape && strides && (made = ((PyTypeObject *)cls)->tp_alloc((PyTypeObject *)cls, 3))) {
            PyTuple_SET_ITEM(made, 0, offset);
            PyTuple_SET_ITEM(made, 1, shape);
            PyTuple_SET_ITEM(made, 2, strides);
            return made;
        }
        Py_XDECREF(offset); Py_XDECREF(shape); Py_XDECREF(strides);
        return NULL;
    }

    static int lazyarray_add_extent(lazyarray_map *map, Py_ssize_t extent, Py_ssize_t stride) {
        if (map->rank >= LAZYARRAY_MAP_AXES) return 0;
        map->extents[map->rank] = extent;
        map->strides[map->rank++] = stride;
        return 1;
    }

    /* Whether the key is of those that `map_at` takes, and shows a view of `from`. */
    static int lazyarray_apply_key(const lazyarray_map *from, PyObject *key, lazyarray_map *to) {
        int many = PyTuple_CheckExact(key), axis = 0;
        PyObject *const *items = many ? ((PyTupleObject *)key)->ob_item : &key;
        Py_ssize_t length = many ? PyTuple_GET_SIZE(key) : 1, given = 0, open = 0, place;
        for (place = 0; place < length; place++) {
            if (items[place] == Py_Ellipsis) open++;
            else if (items[place] != Py_None) given++;
        }
        if (open > 1 || given > from->rank) return 0;
        to->rank = 0;
        to->offset = from->offset;
        for (place = 0; place < length; place++) {
            PyObject *item = items[place];
            Py_ssize_t extent, start, stop, step;
            if (item == Py_None) {
                if (!lazyarray_add_extent(to, 1, 0)) return 0;
                continue;
            }
            if (item == Py_Ellipsis) {
                for (open = from->rank - given; open > 0; open--, axis++)
                    if (!lazyarray_add_extent(to, from->extents[axis], from->strides[axis])) return 0;
                continue;
            }
            extent = from->extents[axis];
            if (PyLong_CheckExact(item)) {
                start = PyLong_AsSsize_t(item);
                if (start == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
                if (start < -extent || start >= extent) return 0;
                to->offset += (start < 0 ? start + extent : start) * from->strides[axis];
            }
            else {
                if (!PySlice_Check(item)) return 0;
                if (PySlice_Unpack(item, &start, &stop, &step) < 0) { PyErr_Clear(); return 0; }
                extent = PySlice_AdjustIndices(extent, &start, &stop, step);
                if (extent > 0) to->offset += start * from->strides[axis];
                if (!lazyarray_add_extent(to, extent, step * from->strides[axis])) return 0;
            }
            axis++;
        }
        for (; axis < from->rank; axis++)
            if (!lazyarray_add_extent(to, from->extents[axis], from->strides[axis])) return 0;
        return to->rank > 0;
    }

    static PyObject *lazyarray_map_at(PyObject *cls, PyObject *view, PyObject *shape, PyObject *key) {
        lazyarray_map from, to;
        if (!lazyarray_read_map(view, shape, &from) || !lazyarray_apply_key(&from, key, &to)) Py_RETURN_NONE;
        return lazyarray_make_map(cls, &to);
    }

    static PyObject *lazyarray_map_turned(PyObject *cls, PyObject *view, PyObject *shape) {
        lazyarray_map from, to;
        int axis;
        if (!lazyarray_read_map(view, shape, &from)) Py_RETURN_NONE;
        to.rank = from.rank;
        to.offset = from.offset;
        for (axis = 0; axis < from.rank; axis++) {
            to.extents[axis] = from.extents[from.rank - 1 - axis];
            to.strides[axis] = from.strides[from.rank - 1 - axis];
        }
        return lazyarray_make_map(cls, &to);
    }
    """
    object map_at "lazyarray_map_at" (object cls, object view, object shape, object key)
    object map_turned "lazyarray_map_turned" (object cls, object view, object shape)
