# C's side of `recycled.py`.
cdef extern from *:
    """
    #include "numpy/ndarraytypes.h"

    /* Instances of a class, whose fields are objects and weak references alone, made from memory of earlier ones.
       A module of its own for each: only `quick.py` takes this file. */
    #define LAZYARRAY_SPARE 128

    typedef struct {
        PyTypeObject *type;
        PyObject *empty; /* what a field without a value has: None or NULL */
        PyObject *spares[LAZYARRAY_SPARE];
        int count;
    } lazyarray_pool;

    static lazyarray_pool lazyarray_handles, lazyarray_flats;

    #define LAZYARRAY_FIELDS(self) ((PyObject **)((char *)(self) + sizeof(PyObject)))
    #define LAZYARRAY_END(self, type) ((PyObject **)((char *)(self) + (type)->tp_basicsize))
    #define LAZYARRAY_WEAK(self, type) \\
        ((type)->tp_weaklistoffset ? (PyObject **)((char *)(self) + (type)->tp_weaklistoffset) : NULL)

    static PyObject *lazyarray_take(lazyarray_pool *pool, PyTypeObject *type) {
        PyObject *self, **field, **weak;
        if (type == pool->type) {
            while (pool->count) {
                self = pool->spares[--pool->count];
                if (Py_REFCNT(self) == 1) return self;
                Py_DECREF(self); /* found among all that the garbage collector knows */
            }
        }
        self = type->tp_alloc(type, 0);
        if (!self) return NULL;
        weak = LAZYARRAY_WEAK(self, type);
        for (field = LAZYARRAY_FIELDS(self); field < LAZYARRAY_END(self, type); field++) {
            if (field == weak || type == lazyarray_flats.type) *field = NULL;
            else { Py_INCREF(Py_None); *field = Py_None; }
        }
        return self;
    }

    /* The handles in use, as far as no other one has taken the place: what looks for one of them seldom finds it among the
       young objects of the garbage collector, where spare ones have been for long. */
    #define LAZYARRAY_PLACES 1024
    #define LAZYARRAY_PLACE(self) ((((size_t)(self) >> 4) ^ ((size_t)(self) >> 13)) % LAZYARRAY_PLACES)

    static PyObject *lazyarray_in_use[LAZYARRAY_PLACES];

    static PyObject *lazyarray_reused(PyObject *cls) {
        PyObject *self = lazyarray_take(&lazyarray_handles, (PyTypeObject *)cls);
        if (self && cls == (PyObject *)lazyarray_handles.type) lazyarray_in_use[LAZYARRAY_PLACE(self)] = self;
        return self;
    }

    static PyObject *lazyarray_recent(void) {
        PyObject *found = PyList_New(0);
        int place;
        for (place = 0; found && place < LAZYARRAY_PLACES; place++)
            if (lazyarray_in_use[place] && PyList_Append(found, lazyarray_in_use[place]) < 0) Py_CLEAR(found);
        return found;
    }

    static void lazyarray_begin_life(PyObject *self) {
    #ifdef Py_REF_DEBUG
        _Py_NewReference(self);
    #else
        Py_SET_REFCNT(self, 1);
    #endif
    }

    /* Spare instances keep None in all fields, or nothing, and their class: these need not be counted again for the next.
       They are alive, with one reference, so that the garbage collector need not be told of each one's end and beginning. */
    static inline void lazyarray_end_life(lazyarray_pool *pool, PyObject *self) {
        PyTypeObject *type = Py_TYPE(self);
        PyObject **field = LAZYARRAY_FIELDS(self), **end = LAZYARRAY_END(self, pool->type);
        PyObject **weak = LAZYARRAY_WEAK(self, pool->type), *empty = pool->empty;
        if (weak && *weak) PyObject_ClearWeakRefs(self);
        if (type == pool->type && pool->count < LAZYARRAY_SPARE) {
            lazyarray_begin_life(self);
            for (; field < end; field++) {
                PyObject *old = *field;
                if (field == weak || old == empty) continue;
                Py_XINCREF(empty);
                *field = empty;
                Py_XDECREF(old);
            }
            /* What an old value's end has run may have found this one, or filled the place. */
            if (Py_REFCNT(self) == 1 && !(weak && *weak) && pool->count < LAZYARRAY_SPARE) {
                pool->spares[pool->count++] = self;
                return;
            }
            Py_SET_REFCNT(self, Py_REFCNT(self) - 1);
            if (Py_REFCNT(self)) return;
            if (weak && *weak) PyObject_ClearWeakRefs(self);
        }
        PyObject_GC_UnTrack(self);
        for (field = LAZYARRAY_FIELDS(self); field < end; field++)
            if (field != weak) Py_CLEAR(*field);
        type->tp_free(self);
        Py_DECREF(type); /* an instance of a class made by `class` refers to it */
    }

    static void lazyarray_dealloc(PyObject *self) {
        PyObject **place = &lazyarray_in_use[LAZYARRAY_PLACE(self)];
        if (*place == self) *place = NULL;
        lazyarray_end_life(&lazyarray_handles, self);
    }

    static void lazyarray_flat_dealloc(PyObject *self) { lazyarray_end_life(&lazyarray_flats, self); }

    static int lazyarray_is_simple(PyTypeObject *type) {
        return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyType_IS_GC(type) && !type->tp_itemsize && !type->tp_finalize
            && !((type->tp_basicsize - sizeof(PyObject)) % sizeof(PyObject *));
    }

    static int lazyarray_recycle(PyObject *cls) {
    #ifndef Py_GIL_DISABLED
        PyTypeObject *type = (PyTypeObject *)cls;
        if (!lazyarray_is_simple(type) || !type->tp_weaklistoffset) return 0;
        lazyarray_handles.type = type;
        lazyarray_handles.empty = Py_None;
        type->tp_dealloc = lazyarray_dealloc;
    #endif
        return 0;
    }

    /* Attributes that NumPy's own getter answers for an array over NumPy's memory. All else about them is the property's
       of that name in the class's parents: other states of arrays, setting and deleting. */
    #define LAZYARRAY_READS 16
    enum { LAZYARRAY_VALUE, LAZYARRAY_VIEW, LAZYARRAY_FLAT, LAZYARRAY_FLAGS, LAZYARRAY_BASE };

    typedef struct {
        getter get;
        void *closure;
        PyObject *name;
        int kind; /* what it makes: a value, an array, an iterator, flags, or the array whose memory a view shows */
    } lazyarray_read;

    static lazyarray_read lazyarray_reads[LAZYARRAY_READS];
    static PyGetSetDef lazyarray_defs[LAZYARRAY_READS];
    static int lazyarray_read_count = 0;
    static PyTypeObject *lazyarray_memory = NULL;
    static Py_ssize_t lazyarray_place = 0, lazyarray_managed = 0; /* of `_np` and `_base` */
    static Py_ssize_t lazyarray_limit = 0; /* elements below which views are made here */

    static int lazyarray_flat_first = 0; /* the field of an iterator that has the array: the first or the second */

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

    /* The array's `flat`, over NumPy's iterator, which it takes. */
    static PyObject *lazyarray_flat_of(PyObject *array, PyObject *iterator) {
        PyObject *made = iterator ? lazyarray_take(&lazyarray_flats, lazyarray_flats.type) : NULL;
        if (!made) { Py_XDECREF(iterator); return NULL; }
        Py_INCREF(array);
        LAZYARRAY_FIELDS(made)[lazyarray_flat_first] = array;
        LAZYARRAY_FIELDS(made)[!lazyarray_flat_first] = iterator;
        return made;
    }

    /* Whether memory is an array of NumPy's own, or shows that of one. */
    static int lazyarray_is_numpys(PyArrayObject_fields *fields) {
        return !fields->base || Py_TYPE(fields->base) == lazyarray_memory;
    }

    /* Weak references to arrays that were found for memory that views show (`owners.py`). */
    #define LAZYARRAY_OWNERS 64
    static PyObject *lazyarray_owners[LAZYARRAY_OWNERS];

    static PyObject *lazyarray_memory_of(PyObject *array) { return *(PyObject **)((char *)array + lazyarray_place); }

    /* The array over this memory, as far as it was found before; NULL without an error where it was not. */
    static PyObject *lazyarray_owner_of(PyObject *memory) {
        PyObject *kept = lazyarray_owners[((size_t)memory >> 4) % LAZYARRAY_OWNERS], *found = NULL;
        if (!kept) return NULL;
    #if PY_VERSION_HEX >= 0x030D0000
        (void)PyWeakref_GetRef(kept, &found);
    #else
        found = PyWeakref_GET_OBJECT(kept) == Py_None ? NULL : Py_NewRef(PyWeakref_GET_OBJECT(kept));
    #endif
        if (found && lazyarray_memory_of(found) != memory) Py_CLEAR(found);
        return found;
    }

    static void lazyarray_keep_owner(PyObject *memory, PyObject *array) {
        PyObject *made;
        if (Py_TYPE(array) != lazyarray_handles.type || lazyarray_memory_of(array) != memory) return;
        if (!(made = PyWeakref_NewRef(array, NULL))) PyErr_Clear();
        Py_XSETREF(lazyarray_owners[((size_t)memory >> 4) % LAZYARRAY_OWNERS], made);
    }

    static PyObject *lazyarray_get(PyObject *self, void *given) {
        lazyarray_read *read = (lazyarray_read *)given;
        PyObject *data = lazyarray_memory_of(self), *found, *slow, *memory = NULL;
        if (Py_TYPE(data) == lazyarray_memory) {
            PyArrayObject_fields *fields = (PyArrayObject_fields *)data;
            Py_ssize_t size = 1;
            int axis;
            if (read->kind == LAZYARRAY_VALUE) return read->get(data, read->closure);
            if (read->kind == LAZYARRAY_FLAT) return lazyarray_flat_of(self, read->get(data, read->closure));
            if (read->kind == LAZYARRAY_FLAGS) {
                if (!lazyarray_is_numpys(fields) || !(fields->flags & NPY_ARRAY_WRITEABLE)) goto asked;
                return read->get(data, read->closure);
            }
            if (read->kind == LAZYARRAY_BASE) {
                if (!fields->base) Py_RETURN_NONE;
                if (!lazyarray_is_numpys(fields) || *(PyObject **)((char *)self + lazyarray_managed) != Py_None) goto asked;
                memory = fields->base;
                if ((found = lazyarray_owner_of(memory))) return found;
                goto asked;
            }
            for (axis = 0; axis < fields->nd; axis++) size *= fields->dimensions[axis];
            if (size < lazyarray_limit) {
                PyObject *made;
                found = read->get(data, read->closure);
                if (!found) return NULL;
                if (found == data) { Py_INCREF(self); Py_DECREF(found); return self; }
                made = lazyarray_reused((PyObject *)lazyarray_handles.type);
                if (!made) { Py_DECREF(found); return NULL; }
                Py_SETREF(*(PyObject **)((char *)made + lazyarray_place), found);
                return made;
            }
        }
    asked:
        if (!(slow = lazyarray_property(self, read->name))) return NULL;
        Py_XINCREF(memory);
        found = Py_TYPE(slow)->tp_descr_get(slow, self, (PyObject *)Py_TYPE(self));
        if (found && memory) lazyarray_keep_owner(memory, found);
        Py_XDECREF(memory);
        return found;
    }

    static int lazyarray_set(PyObject *self, PyObject *value, void *given) {
        PyObject *slow = lazyarray_property(self, ((lazyarray_read *)given)->name);
        return slow ? Py_TYPE(slow)->tp_descr_set(slow, self, value) : -1;
    }

    static int lazyarray_quicken_one(PyTypeObject *type, PyObject *name, int kind) {
        PyGetSetDef *theirs = lazyarray_memory->tp_getset, *own = &lazyarray_defs[lazyarray_read_count];
        lazyarray_read *read = &lazyarray_reads[lazyarray_read_count];
        PyObject *made;
        int failed;
        for (; theirs && theirs->name; theirs++) {
            if (PyUnicode_CompareWithASCIIString(name, theirs->name)) continue;
            if (lazyarray_read_count++ >= LAZYARRAY_READS) break;
            Py_INCREF(name);
            read->get = theirs->get; read->closure = theirs->closure; read->name = name; read->kind = kind;
            own->name = theirs->name; own->doc = theirs->doc; own->closure = read;
            own->get = lazyarray_get; own->set = lazyarray_set;
            if (!(made = PyDescr_NewGetSet(type, own))) return -1;
            failed = PyDict_SetItem(type->tp_dict, name, made);
            Py_DECREF(made);
            return failed;
        }
        return 0;
    }

    /* Where instances have a field, in bytes; -1 with an error. */
    static Py_ssize_t lazyarray_field(PyTypeObject *type, const char *name) {
        PyObject *probe = lazyarray_reused((PyObject *)type);
        Py_ssize_t at, found = -1;
        if (!probe) return -1;
        if (!PyObject_SetAttrString(probe, name, (PyObject *)type)) {
            for (at = sizeof(PyObject); at < type->tp_basicsize; at += sizeof(PyObject *))
                if (*(PyObject **)((char *)probe + at) == (PyObject *)type) found = at;
        }
        Py_DECREF(probe);
        return found;
    }

    static int lazyarray_quicken(PyObject *cls, PyObject *memory, PyObject *names) {
        PyTypeObject *type = (PyTypeObject *)cls;
        Py_ssize_t kind, at;
        if (type != lazyarray_handles.type) return 0;
        lazyarray_memory = (PyTypeObject *)memory;
        if ((lazyarray_place = lazyarray_field(type, "_np")) < 0) return -1;
        if ((lazyarray_managed = lazyarray_field(type, "_base")) < 0) return -1;
        for (kind = LAZYARRAY_VALUE; kind <= LAZYARRAY_BASE; kind++) {
            PyObject *known = PyTuple_GET_ITEM(names, kind);
            for (at = 0; at < PyTuple_GET_SIZE(known); at++)
                if (lazyarray_quicken_one(type, PyTuple_GET_ITEM(known, at), (int)kind) < 0) return -1;
        }
        PyType_Modified(type);
        return 0;
    }

    /* `cls`: of what the attribute `flat` is, with two fields, `_array` and `_iterator`. */
    static int lazyarray_quicken_flat(PyObject *cls) {
        PyTypeObject *type = (PyTypeObject *)cls;
        PyObject *probe, *name;
        if (!lazyarray_memory || !lazyarray_is_simple(type) || type->tp_weaklistoffset
            || type->tp_basicsize != sizeof(PyObject) + 2 * sizeof(PyObject *)) return 0;
        lazyarray_flats.type = type;
        if (!(probe = lazyarray_take(&lazyarray_flats, type))) return -1;
        if (PyObject_SetAttrString(probe, "_array", Py_None) < 0) { Py_DECREF(probe); return -1; }
        lazyarray_flat_first = LAZYARRAY_FIELDS(probe)[0] != Py_None;
        Py_DECREF(probe);
        type->tp_dealloc = lazyarray_flat_dealloc;
        if (!(name = PyUnicode_InternFromString("flat"))
            || lazyarray_quicken_one(lazyarray_handles.type, name, LAZYARRAY_FLAT) < 0) return -1;
        Py_DECREF(name);
        PyType_Modified(lazyarray_handles.type);
        return 0;
    }
    """
    object reused "lazyarray_reused" (object cls)
    int recycle "lazyarray_recycle" (object cls) except -1
    int quicken "lazyarray_quicken" (object cls, object memory, tuple names) except -1
    int quicken_flat "lazyarray_quicken_flat" (object cls) except -1
    list recent "lazyarray_recent" ()
    void quicken_below "lazyarray_quicken_below" (Py_ssize_t limit)
