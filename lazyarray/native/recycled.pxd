# C's side of `recycled.py`.
cdef extern from *:
    """
    #include "numpy/ndarraytypes.h"

    /* Instances of one class, whose fields are objects and weak references alone, made from memory of earlier ones.
       A module of its own for each: only `quick.py` takes this file. */
    #define LAZYARRAY_SPARE 128

    static PyTypeObject *lazyarray_spared = NULL;
    static PyObject *lazyarray_spares[LAZYARRAY_SPARE];
    static int lazyarray_spare = 0;

    static void lazyarray_fill(PyObject *self, PyTypeObject *type) {
        PyObject **field = (PyObject **)((char *)self + sizeof(PyObject));
        PyObject **end = (PyObject **)((char *)self + type->tp_basicsize);
        PyObject **weak = (PyObject **)((char *)self + type->tp_weaklistoffset);
        for (; field < end; field++) {
            if (field == weak) *field = NULL;
            else { Py_INCREF(Py_None); *field = Py_None; }
        }
    }

    static PyObject *lazyarray_reused(PyObject *cls) {
        PyTypeObject *type = (PyTypeObject *)cls;
        PyObject *self;
        if (type != lazyarray_spared || !lazyarray_spare) {
            self = type->tp_alloc(type, 0);
            if (!self) return NULL;
            lazyarray_fill(self, type);
            return self;
        }
        self = lazyarray_spares[--lazyarray_spare];
        _Py_NewReference(self);
        PyObject_GC_Track(self);
        return self;
    }

    /* Spare instances keep None in all fields, and their class: these need not be counted again for the next. */
    static void lazyarray_dealloc(PyObject *self) {
        PyTypeObject *type = Py_TYPE(self);
        PyObject **field = (PyObject **)((char *)self + sizeof(PyObject));
        PyObject **end = (PyObject **)((char *)self + lazyarray_spared->tp_basicsize);
        PyObject **weak = (PyObject **)((char *)self + lazyarray_spared->tp_weaklistoffset);
        PyObject_GC_UnTrack(self);
        if (*weak) PyObject_ClearWeakRefs(self);
        for (; field < end; field++) {
            PyObject *old = *field;
            if (field == weak || old == Py_None) continue;
            Py_INCREF(Py_None);
            *field = Py_None;
            Py_XDECREF(old);
        }
        if (type == lazyarray_spared && lazyarray_spare < LAZYARRAY_SPARE) {
            lazyarray_spares[lazyarray_spare++] = self;
            return;
        }
        for (field = (PyObject **)((char *)self + sizeof(PyObject)); field < end; field++)
            if (field != weak) Py_CLEAR(*field);
        type->tp_free(self);
        Py_DECREF(type); /* an instance of a class made by `class` refers to it */
    }

    static int lazyarray_recycle(PyObject *cls) {
    #ifndef Py_GIL_DISABLED
        PyTypeObject *type = (PyTypeObject *)cls;
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !PyType_IS_GC(type) || !type->tp_weaklistoffset || type->tp_itemsize
            || type->tp_finalize || (type->tp_basicsize - sizeof(PyObject)) % sizeof(PyObject *)) return 0;
        lazyarray_spared = type;
        type->tp_dealloc = lazyarray_dealloc;
    #endif
        return 0;
    }

    /* Attributes that NumPy's own getter answers for an array over NumPy's memory. All else about them is the property's
       of that name in the class's parents: other states of arrays, setting and deleting. */
    #define LAZYARRAY_READS 16

    typedef struct {
        getter get;
        void *closure;
        PyObject *name;
        int view; /* it makes an array */
    } lazyarray_read;

    static lazyarray_read lazyarray_reads[LAZYARRAY_READS];
    static PyGetSetDef lazyarray_defs[LAZYARRAY_READS];
    static int lazyarray_read_count = 0;
    static PyTypeObject *lazyarray_memory = NULL;
    static Py_ssize_t lazyarray_place = 0, lazyarray_limit = 0; /* of `_np`; elements below which views are made here */

    static void lazyarray_quicken_below(Py_ssize_t limit) { lazyarray_limit = limit; }

    static PyObject *lazyarray_property(PyObject *self, PyObject *name) {
        PyObject *parents = Py_TYPE(self)->tp_mro;
        Py_ssize_t at;
        for (at = 1; at < PyTuple_GET_SIZE(parents); at++) {
            PyObject *found = PyDict_GetItemWithError(((PyTypeObject *)PyTuple_GET_ITEM(parents, at))->tp_dict, name);
            if (found || PyErr_Occurred()) return found;
        }
        PyErr_SetObject(PyExc_AttributeError, name);
        return NULL;
    }

    static PyObject *lazyarray_get(PyObject *self, void *given) {
        lazyarray_read *read = (lazyarray_read *)given;
        PyObject *data = *(PyObject **)((char *)self + lazyarray_place), *found, *slow;
        if (Py_TYPE(data) == lazyarray_memory) {
            PyArrayObject_fields *fields = (PyArrayObject_fields *)data;
            Py_ssize_t size = 1;
            int axis;
            if (!read->view) return read->get(data, read->closure);
            for (axis = 0; axis < fields->nd; axis++) size *= fields->dimensions[axis];
            if (size < lazyarray_limit) {
                PyObject *made;
                found = read->get(data, read->closure);
                if (!found) return NULL;
                if (found == data) { Py_INCREF(self); Py_DECREF(found); return self; }
                made = lazyarray_reused((PyObject *)lazyarray_spared);
                if (!made) { Py_DECREF(found); return NULL; }
                Py_SETREF(*(PyObject **)((char *)made + lazyarray_place), found);
                return made;
            }
        }
        slow = lazyarray_property(self, read->name);
        return slow ? Py_TYPE(slow)->tp_descr_get(slow, self, (PyObject *)Py_TYPE(self)) : NULL;
    }

    static int lazyarray_set(PyObject *self, PyObject *value, void *given) {
        PyObject *slow = lazyarray_property(self, ((lazyarray_read *)given)->name);
        return slow ? Py_TYPE(slow)->tp_descr_set(slow, self, value) : -1;
    }

    static int lazyarray_quicken_one(PyTypeObject *type, PyObject *name, int view) {
        PyGetSetDef *theirs = lazyarray_memory->tp_getset, *own = &lazyarray_defs[lazyarray_read_count];
        lazyarray_read *read = &lazyarray_reads[lazyarray_read_count];
        PyObject *made;
        int failed;
        for (; theirs && theirs->name; theirs++) {
            if (PyUnicode_CompareWithASCIIString(name, theirs->name)) continue;
            if (lazyarray_read_count++ >= LAZYARRAY_READS) break;
            Py_INCREF(name);
            read->get = theirs->get; read->closure = theirs->closure; read->name = name; read->view = view;
            own->name = theirs->name; own->doc = theirs->doc; own->closure = read;
            own->get = lazyarray_get; own->set = lazyarray_set;
            if (!(made = PyDescr_NewGetSet(type, own))) return -1;
            failed = PyDict_SetItem(type->tp_dict, name, made);
            Py_DECREF(made);
            return failed;
        }
        return 0;
    }

    static int lazyarray_quicken(PyObject *cls, PyObject *memory, PyObject *plain, PyObject *views) {
        PyTypeObject *type = (PyTypeObject *)cls;
        PyObject *probe;
        Py_ssize_t at;
        if (type != lazyarray_spared) return 0;
        lazyarray_memory = (PyTypeObject *)memory;
        if (!(probe = lazyarray_reused(cls))) return -1;
        if (PyObject_SetAttrString(probe, "_np", memory) < 0) { Py_DECREF(probe); return -1; }
        for (at = sizeof(PyObject); at < type->tp_basicsize; at += sizeof(PyObject *))
            if (*(PyObject **)((char *)probe + at) == memory) lazyarray_place = at;
        Py_DECREF(probe);
        for (at = 0; at < PyTuple_GET_SIZE(plain); at++)
            if (lazyarray_quicken_one(type, PyTuple_GET_ITEM(plain, at), 0) < 0) return -1;
        for (at = 0; at < PyTuple_GET_SIZE(views); at++)
            if (lazyarray_quicken_one(type, PyTuple_GET_ITEM(views, at), 1) < 0) return -1;
        PyType_Modified(type);
        return 0;
    }
    """
    object reused "lazyarray_reused" (object cls)
    int recycle "lazyarray_recycle" (object cls) except -1
    int quicken "lazyarray_quicken" (object cls, object memory, tuple plain, tuple views) except -1
    void quicken_below "lazyarray_quicken_below" (Py_ssize_t limit)
