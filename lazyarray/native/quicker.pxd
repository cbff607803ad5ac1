# Which loops run in the place of NumPy's (`runtime/quicker.py`), for `loops.pxd`.
cdef extern from *:
    """
    #include "numpy/arrayobject.h"
    #include "numpy/ufuncobject.h"

    /* What runs in the place of NumPy's loops (`runtime/quicker.py`), and what has been asked of it. */
    typedef struct { PyObject *ufunc; int type, number; PyUFuncGenericFunction loop; } lazyarray_quicker;
    static lazyarray_quicker lazyarray_quickers[256];
    static struct { PyObject *find, *may_run; npy_int64 *settings, seen; } lazyarray_source;

    static int lazyarray_open_source(void) {
        PyObject *module = PyImport_ImportModule("lazyarray.runtime.quicker"), *at = NULL;
        if (module) at = PyObject_GetAttrString(module, "SETTINGS_AT");
        if (at) lazyarray_source.settings = (npy_int64 *)PyLong_AsVoidPtr(at);
        if (at) lazyarray_source.find = PyObject_GetAttrString(module, "find");
        if (at) lazyarray_source.may_run = PyObject_GetAttrString(module, "may_run");
        Py_XDECREF(at);
        Py_XDECREF(module);
        return lazyarray_source.may_run ? 0 : -1;
    }

    /* The loop to run in the place of the ufunc's own for operands of one type, the second one a number or not; NULL for
       none, or with an error set. */
    static PyUFuncGenericFunction lazyarray_quicker_of(PyObject *ufunc, int type, int number) {
        size_t place = ((size_t)ufunc >> 4) ^ ((size_t)(2 * type + number) * 37);
        lazyarray_quicker *kept;
        PyObject *dtype, *address, *runs;
        int tries;
        if (!lazyarray_source.may_run && lazyarray_open_source() < 0) return NULL;
        if (lazyarray_source.seen != *lazyarray_source.settings) {
            for (tries = 0; tries < 256; tries++) Py_CLEAR(lazyarray_quickers[tries].ufunc);
            lazyarray_source.seen = *lazyarray_source.settings;
        }
        for (tries = 0; tries < 8; tries++, place++) {
            kept = &lazyarray_quickers[place & 255];
            if (!kept->ufunc || (kept->ufunc == ufunc && kept->type == type && kept->number == number))
                break;
        }
        if (tries == 8) return NULL;
        if (!kept->ufunc) {
            dtype = (PyObject *)PyArray_DescrFromType(type);
            address = dtype ? PyObject_CallFunctionObjArgs(
                lazyarray_source.find, ufunc, dtype, number ? Py_True : Py_False, NULL) : NULL;
            Py_XDECREF(dtype);
            if (!address) return NULL;
            /* Meanwhile another thread may have put something there. */
            Py_XDECREF(kept->ufunc);
            Py_INCREF(ufunc);
            kept->ufunc = ufunc;
            kept->type = type;
            kept->number = number;
            kept->loop = (PyUFuncGenericFunction)PyLong_AsVoidPtr(address);
            Py_DECREF(address);
        }
        if (!kept->loop) return NULL;
        runs = PyObject_CallNoArgs(lazyarray_source.may_run);
        Py_XDECREF(runs);
        return runs == Py_True ? kept->loop : NULL;
    }
    """
    void *quicker_of "lazyarray_quicker_of" (object ufunc, int type, int number)
