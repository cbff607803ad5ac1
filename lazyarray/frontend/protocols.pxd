# C's side of `protocols.py`.
from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <frameobject.h>

    typedef struct {
        PyGetSetDef def;
        PyObject *name, *answer, *settled;
    } lazyarray_protocol;

    /* Where code is that calls into C and asks for no attribute itself, as was seen: kept, so that no other code comes to
       lie there. */
    #define LAZYARRAY_SETTLED 64
    static struct { PyObject *code; int place; } lazyarray_settled[LAZYARRAY_SETTLED];

    static PyObject *lazyarray_answer(PyObject *self, void *given) {
        lazyarray_protocol *own = (lazyarray_protocol *)given;
        PyFrameObject *frame = PyEval_GetFrame();
        PyObject *code, *found = NULL, *settled;
        size_t slot;
        int place;
        if (!frame) { PyErr_SetObject(PyExc_AttributeError, own->name); return NULL; }
        Py_INCREF(frame);
        code = (PyObject *)PyFrame_GetCode(frame);
        place = PyFrame_GetLasti(frame);
        slot = (((size_t)code >> 4) + (size_t)place / 2) % LAZYARRAY_SETTLED;
        if (lazyarray_settled[slot].code == code && lazyarray_settled[slot].place == place)
            PyErr_SetObject(PyExc_AttributeError, own->name);
        else if (!(found = PyObject_CallOneArg(own->answer, self)) && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            settled = PyObject_CallOneArg(own->settled, (PyObject *)frame);
            if (settled == Py_True) {
                PyObject *last = lazyarray_settled[slot].code;
                lazyarray_settled[slot].code = code;
                lazyarray_settled[slot].place = place;
                code = last;
            }
            Py_XDECREF(settled);
            if (settled) PyErr_SetObject(PyExc_AttributeError, own->name);
        }
        Py_XDECREF(code);
        Py_DECREF(frame);
        return found;
    }

    /* A descriptor as those of NumPy's class are; 0 with an error. */
    static int lazyarray_guard(PyObject *cls, PyObject *name, PyObject *doc, PyObject *answer, PyObject *settled) {
        lazyarray_protocol *own = PyMem_Calloc(1, sizeof *own);
        PyObject *made;
        int set;
        if (!own) { PyErr_NoMemory(); return 0; }
        Py_INCREF(name); Py_INCREF(doc); Py_INCREF(answer); Py_INCREF(settled);  /* for good, as the class */
        own->name = name;
        own->answer = answer;
        own->settled = settled;
        own->def.name = PyUnicode_AsUTF8(name);
        own->def.get = lazyarray_answer;
        own->def.doc = PyUnicode_AsUTF8(doc);
        own->def.closure = own;
        if (!(made = PyDescr_NewGetSet((PyTypeObject *)cls, &own->def))) return 0;
        set = PyType_Type.tp_setattro(cls, name, made);
        Py_DECREF(made);
        return !set;
    }

    typedef struct {
        PyGetSetDef def;
        PyObject *theirs, *seen, *set;
    } lazyarray_class;

    /* Codes that asked for a class, each with the globals it ran with, and whether it finds the array's own. Kept, as above. */
    #define LAZYARRAY_ASKING 256
    static struct { PyObject *code, *globals; int own; } lazyarray_asking[LAZYARRAY_ASKING];

    static PyObject *lazyarray_class_of(PyObject *self, void *given) {
        lazyarray_class *class = (lazyarray_class *)given;
        PyObject *own = (PyObject *)Py_TYPE(self), *found, *code, *globals;
        PyFrameObject *frame = PyEval_GetFrame();
        size_t slot;
        if (!frame) { Py_INCREF(class->theirs); return class->theirs; }
        Py_INCREF(frame);
        code = (PyObject *)PyFrame_GetCode(frame);
        globals = PyFrame_GetGlobals(frame);
        slot = ((size_t)code >> 4) % LAZYARRAY_ASKING;
        if (lazyarray_asking[slot].code == code && lazyarray_asking[slot].globals == globals) {
            found = lazyarray_asking[slot].own ? own : class->theirs;
            Py_INCREF(found);
        } else if ((found = PyObject_CallFunctionObjArgs(class->seen, frame, own, class->theirs, NULL))) {
            PyObject *last = lazyarray_asking[slot].code;
            lazyarray_asking[slot].code = code;
            lazyarray_asking[slot].globals = globals;  /* not kept: they hold what a program has */
            lazyarray_asking[slot].own = found == own;
            code = last;
        }
        Py_XDECREF(code);
        Py_DECREF(globals);
        Py_DECREF(frame);
        return found;
    }

    static int lazyarray_set_class(PyObject *self, PyObject *new, void *given) {
        PyObject *done = PyObject_CallFunctionObjArgs(((lazyarray_class *)given)->set, self, new ? new : Py_None, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }

    /* The descriptor of `__class__`; 0 with an error. */
    static int lazyarray_guard_class(PyObject *cls, PyObject *theirs, PyObject *seen, PyObject *set) {
        lazyarray_class *own = PyMem_Calloc(1, sizeof *own);
        PyObject *made;
        int failed;
        if (!own) { PyErr_NoMemory(); return 0; }
        Py_INCREF(theirs); Py_INCREF(seen); Py_INCREF(set);  /* for good, as the class */
        own->theirs = theirs;
        own->seen = seen;
        own->set = set;
        own->def.name = "__class__";
        own->def.get = lazyarray_class_of;
        own->def.set = lazyarray_set_class;
        own->def.closure = own;
        if (!(made = PyDescr_NewGetSet((PyTypeObject *)cls, &own->def))) return 0;
        /* To set it as an attribute would change the class of the class. */
        failed = PyDict_SetItemString(((PyTypeObject *)cls)->tp_dict, own->def.name, made);
        Py_DECREF(made);
        PyType_Modified((PyTypeObject *)cls);
        return !failed;
    }
    """
    bint lazyarray_guard_class(object cls, object theirs, object seen, object put) except 0
    bint lazyarray_guard(object cls, object name, object doc, object answer, object settled) except 0


cdef inline guard_protocol(cls, name, doc, answer, settled):
    lazyarray_guard(cls, name, doc, answer, settled)


cdef inline guard_class(cls, theirs, seen, put):
    lazyarray_guard_class(cls, theirs, seen, put)
