# C's side of `primitives.py`.
cdef extern from *:
    """
    #include <frameobject.h>
    #include "numpy/ndarraytypes.h"

    /* The C classes of the hot modules are no heap types; Python classes derived from them are. */
    static PyObject *lazyarray_create(PyObject *cls) {
        static PyObject *nothing = NULL;
        PyTypeObject *base = (PyTypeObject *)cls;
        if (!nothing && !(nothing = PyTuple_New(0))) return NULL;
        while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
        return base->tp_new((PyTypeObject *)cls, nothing, NULL);
    }

    static PyObject *lazyarray_site_here(int plain, int compiled) {
        PyFrameObject *frame = PyEval_GetFrame();
        PyObject *code, *globals, *last, *site;
        (void)plain;
        if (!frame) { PyErr_SetString(PyExc_RuntimeError, "no Python frame is running"); return NULL; }
        Py_INCREF(frame);
        while (compiled-- > 0) {
            PyFrameObject *outer = PyFrame_GetBack(frame);
            if (!outer) break;
            Py_DECREF(frame);
            frame = outer;
        }
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

    static PyObject *lazyarray_frame_here(int plain) {
        PyObject *frame = (PyObject *)PyEval_GetFrame();
        (void)plain;
        if (!frame) frame = Py_None;
        Py_INCREF(frame);
        return frame;
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

    /* Types before `object` and float16: their elements refer to nothing. */
    static int lazyarray_holds_numbers(PyObject *a) {
        int number = ((PyArrayObject_fields *)a)->descr->type_num;
        return number < NPY_OBJECT || number == NPY_HALF;
    }

    static int lazyarray_holds_in_c_order(PyObject *a) {
        return (((PyArrayObject_fields *)a)->flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
    }

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
    """
    object create "lazyarray_create" (object cls)
    object site_here "lazyarray_site_here" (int plain, int compiled)
    object frame_here "lazyarray_frame_here" (int plain)
    bint same_shape "lazyarray_same_shape" (object a, object b)
    Py_ssize_t size_of_memory "lazyarray_size_of_memory" (object a)
    bint holds_numbers "lazyarray_holds_numbers" (object a)
    bint holds_in_c_order "lazyarray_holds_in_c_order" (object a)
    object item_of "lazyarray_item_of" (object a, object key, object missing)
    bint put_item "lazyarray_put_item" (object a, object key, object value) except -1
    size_t address_of "lazyarray_address_of" (object a)
    int wrap_slots "lazyarray_wrap_slots" (object cls, object source) except -1
    Py_ssize_t count "Py_REFCNT" (object item)
