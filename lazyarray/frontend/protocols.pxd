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
    """
    bint lazyarray_guard(object cls, object name, object doc, object answer, object settled) except 0


cdef inline guard_protocol(cls, name, doc, answer, settled):
    lazyarray_guard(cls, name, doc, answer, settled)
