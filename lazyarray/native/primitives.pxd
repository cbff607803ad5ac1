# C's side of `primitives.py`.
cdef extern from *:
    """
    #include <frameobject.h>
    #include "numpy/arrayobject.h"
    #include "numpy/arrayscalars.h"

    /* An integer that names a place: Python's, or NumPy's of a machine word, which `argmax` gives. Others go the general
       way, as these do until NumPy's interface is there. */
    static inline int lazyarray_is_place(PyObject *item) {
        return PyLong_CheckExact(item) || (PyArray_API && Py_IS_TYPE(item, &PyLongArrType_Type));
    }

    static inline Py_ssize_t lazyarray_named_place(PyObject *item) {
        return PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : (Py_ssize_t)PyArrayScalar_VAL(item, Long);
    }

    /* A place from the beginning of an axis, also for one from its end; -1 for one outside. */
    static inline Py_ssize_t lazyarray_from_start(Py_ssize_t at, Py_ssize_t extent) {
        if (at < 0) at += extent;
        return at >= 0 && at < extent ? at : -1;
    }

    /* The same for what names it; -1 also for what names none, none raised. */
    static inline Py_ssize_t lazyarray_place_in(PyObject *item, Py_ssize_t extent) {
        Py_ssize_t at;
        if (!lazyarray_is_place(item)) return -1;
        at = lazyarray_named_place(item);
        if (at == -1 && PyErr_Occurred()) { PyErr_Clear(); return -1; }
        return lazyarray_from_start(at, extent);
    }

    /* The C classes of the hot modules are no heap types; Python classes derived from them are. */
    static PyObject *lazyarray_create(PyObject *cls) {
        static PyObject *nothing = NULL;
        PyTypeObject *base = (PyTypeObject *)cls;
        if (!nothing && !(nothing = PyTuple_New(0))) return NULL;
        while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
        return base->tp_new((PyTypeObject *)cls, nothing, NULL);
    }

    /* The user's frame, so many above the one that runs; NULL where none runs, without an error. */
    static PyFrameObject *lazyarray_frame_here(int above) {
        PyFrameObject *frame = PyEval_GetFrame(), *outer;
        Py_XINCREF(frame);
        while (frame && above-- > 0 && (outer = PyFrame_GetBack(frame))) {
            Py_DECREF(frame);
            frame = outer;
        }
        return frame;
    }

    static PyObject *lazyarray_site_here(int plain, int compiled) {
        PyFrameObject *frame = lazyarray_frame_here(compiled);
        PyObject *code, *globals, *last, *site;
        (void)plain;
        if (!frame) { PyErr_SetString(PyExc_RuntimeError, "no Python frame is running"); return NULL; }
        code = (PyObject *)PyFrame_GetCode(frame);
        globals = PyFrame_GetGlobals(frame);
        last = PyLong_FromLong(PyFrame_GetLasti(frame));
        Py_DECREF(frame);
        if (!last || !(site = PyTuple_New(3))) {
            Py_XDECREF(code); Py_XDECREF(globals); Py_XDECREF(last);
            return NULL;
        }
        PyTuple_SET_ITEM(site, 0, code);
        PyTuple_SET_ITEM(site, 1, last);
        PyTuple_SET_ITEM(site, 2, globals);
        return site;
    }

    /* What `known`, which maps codes' addresses to their bytes and to them, has of the instruction that runs. `learn` is
       asked for codes that it lacks. */
    static int lazyarray_span_here(int plain, int compiled, PyObject *known, PyObject *learn) {
    #ifdef Py_GIL_DISABLED
        (void)plain; (void)compiled; (void)known; (void)learn;
        return 0;  /* what follows is for one thread at a time */
    #else
        static PyObject *last = NULL, *spans = NULL;  /* borrowed from `known`, which forgets none */
        PyFrameObject *frame = lazyarray_frame_here(compiled);
        PyObject *code, *entry, *key;
        int place;
        (void)plain;
        if (!frame) return 0;
        code = (PyObject *)PyFrame_GetCode(frame);
        place = PyFrame_GetLasti(frame) / 2;
        Py_DECREF(frame);
        if (code != last) {
            if (!(key = PyLong_FromVoidPtr(code))) { Py_DECREF(code); return -1; }
            entry = PyDict_GetItemWithError(known, key);
            Py_DECREF(key);
            if (!entry) {
                if (PyErr_Occurred()) { Py_DECREF(code); return -1; }
                entry = PyObject_CallOneArg(learn, code);
                Py_DECREF(code);
                if (!entry) return -1;
                Py_DECREF(entry);
                return 0;
            }
            last = code;
            spans = PyTuple_GET_ITEM(entry, 0);
        }
        Py_DECREF(code);
        return place >= 0 && place < PyByteArray_GET_SIZE(spans) ? (unsigned char)PyByteArray_AS_STRING(spans)[place] : 0;
    #endif
    }

    /* The array over C-contiguous memory that another one shows, all or a part of it; None where that is unknown. */
    static PyObject *lazyarray_whole_of(PyObject *a) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a, *y = x;
        int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (x->base && Py_IS_TYPE(x->base, Py_TYPE(a))) y = (PyArrayObject_fields *)x->base;
        if ((y->flags & wanted) != wanted || y->descr != x->descr) Py_RETURN_NONE;
        Py_INCREF(y);
        return (PyObject *)y;
    }

    static PyObject *lazyarray_of_integers(int rank, const npy_intp *from, npy_intp unit) {
        PyObject *made = PyTuple_New(rank), *item;
        int axis;
        for (axis = 0; made && axis < rank; axis++) {
            if ((item = PyLong_FromSsize_t(from[axis] / unit))) PyTuple_SET_ITEM(made, axis, item);
            else Py_CLEAR(made);
        }
        return made;
    }

    /* What tells parts of arrays apart: all that `part_of` follows from, and the dtype. */
    static PyObject *lazyarray_token_of(PyObject *part, PyObject *whole) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)part, *y = (PyArrayObject_fields *)whole;
        npy_intp told[3 + 3 * NPY_MAXDIMS];
        size_t each = sizeof(npy_intp);
        told[0] = x->data - y->data;
        told[1] = x->nd;
        told[2] = x->descr->type_num;
        memcpy(told + 3, x->dimensions, x->nd * each);
        memcpy(told + 3 + x->nd, x->strides, x->nd * each);
        memcpy(told + 3 + 2 * x->nd, y->dimensions, y->nd * each);
        return PyBytes_FromStringAndSize((const char *)told, (3 + 2 * x->nd + y->nd) * each);
    }

    /* Where in the elements of `whole` those of a part of it are: offset, shape, strides; None between elements. */
    static PyObject *lazyarray_part_of(PyObject *part, PyObject *whole) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)part;
        npy_intp size, offset = x->data - ((PyArrayObject_fields *)whole)->data;
        PyObject *shape, *strides, *made;
        int axis;
        if (!PyArray_API && _import_array() < 0) return NULL;
        size = PyArray_ITEMSIZE((PyArrayObject *)part);
        if (!size || offset < 0 || offset % size) Py_RETURN_NONE;
        for (axis = 0; axis < x->nd; axis++) if (x->strides[axis] % size) Py_RETURN_NONE;
        shape = lazyarray_of_integers(x->nd, x->dimensions, 1);
        strides = lazyarray_of_integers(x->nd, x->strides, size);
        made = shape && strides ? Py_BuildValue("(nOO)", offset / size, shape, strides) : NULL;
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        return made;
    }

    /* The same of the first frame outside of lazyarray, whose modules are known by their names. */
    static PyObject *lazyarray_site_outside(int plain) {
        static PyObject *key = NULL;
        PyFrameObject *frame = PyEval_GetFrame();
        (void)plain;
        if (!key && !(key = PyUnicode_InternFromString("__name__"))) return NULL;
        Py_XINCREF(frame);
        while (frame) {
            PyObject *globals = PyFrame_GetGlobals(frame);
            PyObject *name = PyDict_GetItem(globals, key);
            const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
            PyFrameObject *outer;
            if (!text) { Py_DECREF(globals); Py_DECREF(frame); return NULL; }
            if (strncmp(text, "lazyarray", 9) || (text[9] && text[9] != '.')) {
                PyObject *code = (PyObject *)PyFrame_GetCode(frame);
                PyObject *last = PyLong_FromLong(PyFrame_GetLasti(frame)), *site = last ? PyTuple_New(3) : NULL;
                Py_DECREF(frame);
                if (!site) { Py_DECREF(globals); Py_DECREF(code); Py_XDECREF(last); return NULL; }
                PyTuple_SET_ITEM(site, 0, code);
                PyTuple_SET_ITEM(site, 1, last);
                PyTuple_SET_ITEM(site, 2, globals);
                return site;
            }
            Py_DECREF(globals);
            outer = PyFrame_GetBack(frame);
            Py_DECREF(frame);
            frame = outer;
        }
        Py_RETURN_NONE;
    }

    static int lazyarray_same_shape(PyObject *a, PyObject *b) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a, *y = (PyArrayObject_fields *)b;
        return x->nd == y->nd && !memcmp(x->dimensions, y->dimensions, x->nd * sizeof(npy_intp));
    }

    static Py_ssize_t lazyarray_size_of_memory(PyObject *a) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a;
        Py_ssize_t size = 1;
        int axis;
        for (axis = 0; axis < x->nd; axis++) size *= x->dimensions[axis];
        return size;
    }

    static int lazyarray_rank_of_memory(PyObject *a) { return ((PyArrayObject_fields *)a)->nd; }

    static Py_ssize_t lazyarray_bytes_of_memory(PyObject *a) {
        if (!PyArray_API && _import_array() < 0) return -1;
        return lazyarray_size_of_memory(a) * PyArray_ITEMSIZE((PyArrayObject *)a);
    }

    /* At most so many elements of `a` does a basic key select: integers take their axes away. */
    static Py_ssize_t lazyarray_most_selected(PyObject *a, PyObject *key) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a;
        Py_ssize_t most = 1;
        int axis;
        for (axis = 0; axis < x->nd; axis++) {
            int taken = 0;
            if (PyTuple_Check(key)) {
                Py_ssize_t place, count = PyTuple_GET_SIZE(key);
                taken = axis < count && PyLong_CheckExact(PyTuple_GET_ITEM(key, axis));
                for (place = 0; taken && place < axis; place++) {
                    PyObject *item = PyTuple_GET_ITEM(key, place);
                    taken = PyLong_CheckExact(item) || PySlice_Check(item);
                }
            }
            else taken = !axis && PyLong_CheckExact(key);
            if (!taken) most *= x->dimensions[axis];
        }
        return most;
    }

    /* How many elements of `a` an array of indices picks; -1 where it is none. */
    static Py_ssize_t lazyarray_picked_by(PyObject *a, PyObject *index) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a, *y = (PyArrayObject_fields *)index;
        Py_ssize_t count = 1;
        int axis;
        if (x->nd < 1 || y->nd < 1 || y->descr->type_num < NPY_BYTE || y->descr->type_num > NPY_ULONGLONG) return -1;
        for (axis = 0; axis < y->nd; axis++) count *= y->dimensions[axis];
        for (axis = 1; axis < x->nd; axis++) count *= x->dimensions[axis];
        return count;
    }

    /* How many elements a key of integers and slices selects; -1 for other keys, none raised. */
    static Py_ssize_t lazyarray_selected_by(PyObject *key, PyObject *shape) {
        int many = PyTuple_CheckExact(key);
        PyObject *const *items = many ? ((PyTupleObject *)key)->ob_item : &key;
        Py_ssize_t given = many ? PyTuple_GET_SIZE(key) : 1, rank = PyTuple_GET_SIZE(shape), size = 1, axis;
        if (given > rank) return -1;
        for (axis = 0; axis < rank; axis++) {
            Py_ssize_t extent, start, stop, step;
            if (axis < given && PyIndex_Check(items[axis])) continue;
            extent = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            if (axis < given) {
                if (!PySlice_Check(items[axis])) return -1;
                if (PySlice_Unpack(items[axis], &start, &stop, &step) < 0) { PyErr_Clear(); return -1; }
                extent = PySlice_AdjustIndices(extent, &start, &stop, step);
            }
            size *= extent;
        }
        return size;
    }

    static int lazyarray_is_of(PyObject *a, PyObject *shape, PyObject *dtype) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a;
        int axis;
        if ((PyObject *)x->descr != dtype || x->nd != PyTuple_GET_SIZE(shape)) return 0;
        for (axis = 0; axis < x->nd; axis++)
            if (x->dimensions[axis] != PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis))) return 0;
        return 1;
    }

    static int lazyarray_same_memory(PyObject *a, PyObject *b) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a, *y = (PyArrayObject_fields *)b;
        size_t bytes = x->nd * sizeof(npy_intp);
        return x->data == y->data && x->descr == y->descr && x->nd == y->nd
            && !memcmp(x->dimensions, y->dimensions, bytes) && !memcmp(x->strides, y->strides, bytes);
    }

    /* Adds a weak reference in place of a dead one, or at the end, or at most `limit` long, in place of the oldest. */
    static int lazyarray_remember(PyObject *list, PyObject *item, Py_ssize_t limit) {
        PyObject *weak = PyWeakref_NewRef(item, NULL);
        Py_ssize_t place, length = PyList_GET_SIZE(list);
        int failed;
        if (!weak) return -1;
        for (place = length - 1; place >= 0; place--)
            if (PyWeakref_GET_OBJECT(PyList_GET_ITEM(list, place)) == Py_None)
                return PyList_SetItem(list, place, weak);
        if (length >= limit && PyList_SetSlice(list, 0, 1, NULL) < 0) { Py_DECREF(weak); return -1; }
        failed = PyList_Append(list, weak);
        Py_DECREF(weak);
        return failed;
    }

    /* Where the element of a number dtype lies that a key of integers alone names; NULL for other keys, none raised. */
    static char *lazyarray_seek_element(PyObject *a, PyObject *key) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a;
        PyObject *const *items = PyTuple_Check(key) ? ((PyTupleObject *)key)->ob_item : &key;
        char *found = x->data;
        int axis;
        if ((x->descr->type_num >= NPY_OBJECT && x->descr->type_num != NPY_HALF) || x->nd < 1
            || (PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1) != x->nd) return NULL;
        for (axis = 0; axis < x->nd; axis++) {
            Py_ssize_t at = lazyarray_place_in(items[axis], x->dimensions[axis]);
            if (at < 0) return NULL;
            found += at * x->strides[axis];
        }
        return found;
    }

    static PyObject *lazyarray_element_of(PyObject *a, PyObject *key) {
        char *place = lazyarray_seek_element(a, key);
        if (!place) Py_RETURN_NONE;
        if (!PyArray_API && _import_array() < 0) return NULL;
        return PyArray_Scalar(place, ((PyArrayObject_fields *)a)->descr, a);
    }

    static int lazyarray_put_element(PyObject *a, PyObject *key, PyObject *value) {
        PyArrayObject_fields *x = (PyArrayObject_fields *)a;
        int own = Py_TYPE(value) == x->descr->typeobj, code = x->descr->type_num;
        char *place;
        if (!own && !(code == NPY_DOUBLE ? PyFloat_CheckExact(value) || PyLong_CheckExact(value)
                                         : code == NPY_LONG && PyLong_CheckExact(value))) return 0;
        if ((x->flags & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)) != (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)
            || !PyArray_ISNBO(x->descr->byteorder)) return 0;
        if (x->flags & (1 << 31)) return 0;  /* NumPy warns of writes to it */
        place = lazyarray_seek_element(a, key);
        if (!place) return 0;
        if (code == NPY_DOUBLE && PyFloat_Check(value)) *(double *)place = PyFloat_AS_DOUBLE(value);
        else if (own) {
            if (!PyArray_API && _import_array() < 0) return -1;
            PyArray_ScalarAsCtype(value, place);
        }
        else if (code == NPY_DOUBLE) {
            double number = PyLong_AsDouble(value);
            if (number == -1.0 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
            *(double *)place = number;
        }
        else {
            long number = PyLong_AsLong(value);
            if (number == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
            *(long *)place = number;
        }
        return 1;
    }

    /* Types before `object` and float16: their elements refer to nothing. */
    static int lazyarray_holds_numbers(PyObject *a) {
        int number = ((PyArrayObject_fields *)a)->descr->type_num;
        return number < NPY_OBJECT || number == NPY_HALF;
    }

    /* NumPy's number of the dtype; -1 where bytes lie in the other order. */
    static int lazyarray_type_of_memory(PyObject *a) {
        PyArray_Descr *dtype = ((PyArrayObject_fields *)a)->descr;
        return PyArray_ISNBO(dtype->byteorder) ? dtype->type_num : -1;
    }

    static int lazyarray_kind_of_memory(PyObject *a) {
        int number = lazyarray_type_of_memory(a);
        if (number < 0) return 0;
        if (number <= NPY_ULONGLONG) return 1;
        return (number < NPY_OBJECT && number != NPY_LONGDOUBLE && number != NPY_CLONGDOUBLE) || number == NPY_HALF ? 2 : 0;
    }

    static int lazyarray_holds_in_c_order(PyObject *a) {
        return (((PyArrayObject_fields *)a)->flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
    }

    static int lazyarray_is_open(PyObject *a) {
        return PyArray_CHKFLAGS((PyArrayObject *)a, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE);
    }

    static Py_ssize_t lazyarray_length_of(PyObject *a) { return PyArray_DIM((PyArrayObject *)a, 0); }

    static PyObject *lazyarray_item_of(PyObject *a, PyObject *key, PyObject *missing) {
        PyObject *found = PyObject_GetItem(a, key);
        if (found) return found;
        if (!PyErr_ExceptionMatches(PyExc_IndexError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
        PyErr_Clear();
        Py_INCREF(missing);
        return missing;
    }

    static int lazyarray_put_item(PyObject *a, PyObject *key, PyObject *value) {
        if (!PyObject_SetItem(a, key, value)) return 1;
        if (!PyErr_ExceptionMatches(PyExc_IndexError)) return -1;
        PyErr_Clear();
        return 0;
    }

    static PyObject *lazyarray_copy_of(PyObject *data) {
        if (!PyArray_API && _import_array() < 0) return NULL;
        return PyArray_NewCopy((PyArrayObject *)data, NPY_CORDER);
    }

    /* `numpy.empty` of a plain shape and a dtype. */
    static PyObject *lazyarray_empty_of(PyObject *shape, PyObject *dtype) {
        npy_intp extents[NPY_MAXDIMS];
        Py_ssize_t axis, rank = PyTuple_GET_SIZE(shape);
        if (!PyArray_API && _import_array() < 0) return NULL;
        for (axis = 0; axis < rank; axis++) {
            extents[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            if (extents[axis] == -1 && PyErr_Occurred()) return NULL;
        }
        Py_INCREF(dtype);
        return PyArray_Empty((int)rank, extents, (PyArray_Descr *)dtype, 0);
    }

    static PyObject *lazyarray_weak(PyObject *item) { return PyWeakref_NewRef(item, NULL); }

    /* The present value of a context variable, or of what has such a `get`. */
    static PyObject *lazyarray_present(PyObject *variable) {
        PyObject *value = NULL;
        if (!PyContextVar_CheckExact(variable)) return PyObject_CallMethod(variable, "get", NULL);
        if (PyContextVar_Get(variable, NULL, &value) < 0) return NULL;
        if (!value) PyErr_SetObject(PyExc_LookupError, variable);
        return value;
    }

    /* What a weak reference refers to; None if that is gone. */
    static PyObject *lazyarray_referent(PyObject *entry) {
        PyObject *found = PyWeakref_GET_OBJECT(entry);
        Py_INCREF(found);
        return found;
    }

    static size_t lazyarray_address_of(PyObject *a) { return (size_t)((PyArrayObject_fields *)a)->data; }

    /* The function of `type` that stands where `found` stands in `like`; NULL if there is none. */
    #define LAZYARRAY_SEEK(group, kind)                                                              \
        if (like->group && type->group)                                                              \
            for (at = 0; at < sizeof(kind) / sizeof(void *); at++)                                   \
                if (((void **)like->group)[at] == found && ((void **)type->group)[at])               \
                    return ((void **)type->group)[at];

    static void *lazyarray_seek(PyTypeObject *like, PyTypeObject *type, void *found) {
        size_t at;
        LAZYARRAY_SEEK(tp_as_mapping, PyMappingMethods)
        LAZYARRAY_SEEK(tp_as_number, PyNumberMethods)
        LAZYARRAY_SEEK(tp_as_sequence, PySequenceMethods)
        return found == (void *)like->tp_richcompare ? (void *)type->tp_richcompare : NULL;
    }

    /* Cython's special methods stand in the class as methods; `type` would make slots that look them up for derived
       classes. Wrappers of slots, as classes written in C have them, make derived classes take the slots over. */
    static int lazyarray_wrap_slots(PyObject *cls, PyObject *source) {
        PyTypeObject *type = (PyTypeObject *)cls, *like = (PyTypeObject *)source;
        PyObject *name, *item;
        Py_ssize_t place = 0;
        while (PyDict_Next(like->tp_dict, &place, &name, &item)) {
            PyWrapperDescrObject *known = (PyWrapperDescrObject *)item;
            PyObject *own = PyDict_GetItemWithError(type->tp_dict, name), *made;
            void *slot;
            if (!own && PyErr_Occurred()) return -1;
            if (!own || !Py_IS_TYPE(item, &PyWrapperDescr_Type)) continue;
            slot = lazyarray_seek(like, type, known->d_wrapped);
            if (!slot) continue;
            made = PyDescr_NewWrapper(type, known->d_base, slot);
            if (!made || PyDict_SetItem(type->tp_dict, name, made) < 0) { Py_XDECREF(made); return -1; }
            Py_DECREF(made);
        }
        PyType_Modified(type);
        return 0;
    }

    /* What keys are ours, and what makes NumPy's of them, for classes that `lazyarray_take_keys` was told of. */
    static PyTypeObject *lazyarray_key_class = NULL, *lazyarray_key_owner = NULL;
    static PyObject *lazyarray_key_export = NULL;

    /* The key as NumPy's arrays take it, a new reference. */
    static PyObject *lazyarray_key(PyObject *key) {
        Py_ssize_t at = 0, size = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 0;
        while (at < size && !Py_IS_TYPE(PyTuple_GET_ITEM(key, at), lazyarray_key_class)) at++;
        if (at < size || Py_IS_TYPE(key, lazyarray_key_class)) return PyObject_CallOneArg(lazyarray_key_export, key);
        Py_INCREF(key);
        return key;
    }

    static PyObject *lazyarray_get_by_key(PyObject *self, PyObject *key) {
        PyObject *found, *known = lazyarray_key(key);
        if (!known) return NULL;
        found = lazyarray_key_owner->tp_as_mapping->mp_subscript(self, known);
        Py_DECREF(known);
        return found;
    }

    static int lazyarray_set_by_key(PyObject *self, PyObject *key, PyObject *value) {
        int failed;
        PyObject *known = lazyarray_key(key);
        if (!known) return -1;
        failed = lazyarray_key_owner->tp_as_mapping->mp_ass_subscript(self, known, value);
        Py_DECREF(known);
        return failed;
    }

    static int lazyarray_take_keys(PyObject *cls, PyObject *owner, PyObject *kind, PyObject *export) {
        PyMappingMethods *own = ((PyTypeObject *)cls)->tp_as_mapping, *like = ((PyTypeObject *)owner)->tp_as_mapping;
        if (!lazyarray_key_export) {
            Py_INCREF(owner); Py_INCREF(kind); Py_INCREF(export);
            lazyarray_key_owner = (PyTypeObject *)owner;
            lazyarray_key_class = (PyTypeObject *)kind;
            lazyarray_key_export = export;
        }
        if (own->mp_subscript == like->mp_subscript) own->mp_subscript = lazyarray_get_by_key;
        if (own->mp_ass_subscript == like->mp_ass_subscript) own->mp_ass_subscript = lazyarray_set_by_key;
        return 0;
    }

    static int lazyarray_put_method(PyObject *cls, PyObject *name, PyObject *method) {
        if (PyDict_SetItem(((PyTypeObject *)cls)->tp_dict, name, method) < 0) return -1;
        PyType_Modified((PyTypeObject *)cls);
        return 0;
    }
    """
    Py_ssize_t named_place "lazyarray_named_place" (object item)
    object create "lazyarray_create" (object cls)
    object site_here "lazyarray_site_here" (int plain, int compiled)
    object site_outside "lazyarray_site_outside" (int plain)
    int span_here "lazyarray_span_here" (int plain, int compiled, object known, object learn) except -1
    object whole_of "lazyarray_whole_of" (object a)
    object part_of "lazyarray_part_of" (object part, object whole)
    object token_of "lazyarray_token_of" (object part, object whole)
    bint same_shape "lazyarray_same_shape" (object a, object b)
    bint is_of "lazyarray_is_of" (object a, object shape, object dtype)
    Py_ssize_t size_of_memory "lazyarray_size_of_memory" (object a)
    int rank_of_memory "lazyarray_rank_of_memory" (object a)
    Py_ssize_t bytes_of_memory "lazyarray_bytes_of_memory" (object a) except -1
    bint holds_numbers "lazyarray_holds_numbers" (object a)
    int type_of_memory "lazyarray_type_of_memory" (object a)
    int kind_of_memory "lazyarray_kind_of_memory" (object a)
    bint holds_in_c_order "lazyarray_holds_in_c_order" (object a)
    bint is_open "lazyarray_is_open" (object a)
    object item_of "lazyarray_item_of" (object a, object key, object missing)
    object item_at "PySequence_GetItem" (object a, Py_ssize_t place)
    Py_ssize_t length_of "lazyarray_length_of" (object a)
    bint put_item "lazyarray_put_item" (object a, object key, object value) except -1
    size_t address_of "lazyarray_address_of" (object a)
    object copy_of "lazyarray_copy_of" (object data)
    object empty_of "lazyarray_empty_of" (object shape, object dtype)
    object weak "lazyarray_weak" (object item)
    object present "lazyarray_present" (object variable)
    object referent "lazyarray_referent" (object entry)
    unsigned long thread_here "PyThread_get_thread_ident" ()
    Py_ssize_t most_selected "lazyarray_most_selected" (object a, object key)
    object element_of "lazyarray_element_of" (object a, object key)
    int put_element "lazyarray_put_element" (object a, object key, object value) except -1
    Py_ssize_t selected_by "lazyarray_selected_by" (object key, object shape)
    int PySlice_Unpack(object item, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t extent, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t step)
    Py_ssize_t picked_by "lazyarray_picked_by" (object a, object index)
    bint same_memory "lazyarray_same_memory" (object a, object b)
    int remember "lazyarray_remember" (object items, object item, Py_ssize_t limit) except -1
    int wrap_slots "lazyarray_wrap_slots" (object cls, object source) except -1
    int put_method "lazyarray_put_method" (object cls, object name, object method) except -1
    int take_keys "lazyarray_take_keys" (object cls, object owner, object kind, object export) except -1
    Py_ssize_t count "Py_REFCNT" (object item)
