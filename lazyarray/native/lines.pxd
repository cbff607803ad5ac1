# C's side of `lines.py`.

cdef extern from *:
    """
    #include <fenv.h>
    #include <string.h>
    #include "numpy/arrayobject.h"
    #include "numpy/ufuncobject.h"

    #define LAZYARRAY_LINE_ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)
    #define LAZYARRAY_LINE_AXES 8
    #ifdef _MSC_VER
    #define LAZYARRAY_ALSO(word, bits) _InterlockedOr((volatile long *)(word), (bits))
    #else
    #define LAZYARRAY_ALSO(word, bits) __atomic_fetch_or((word), (bits), __ATOMIC_RELAXED)
    #endif

    /* What a record begins with: what runs a range of its parts, how many there are, what any thread raised. */
    typedef struct lazyarray_shared {
        void (*run)(struct lazyarray_shared *record, npy_intp begin, npy_intp end);
        npy_intp count;
        int raised;
    } lazyarray_shared;

    static void lazyarray_run_shared(void *given, npy_int64 begin, npy_int64 end, npy_int64 worker) {
        lazyarray_shared *record = (lazyarray_shared *)given;
        int raised;
        (void)worker;
        feclearexcept(LAZYARRAY_LINE_ERRORS);
        record->run(record, (npy_intp)begin, (npy_intp)end);
        raised = fetestexcept(LAZYARRAY_LINE_ERRORS);
        if (!raised) return;
        feclearexcept(LAZYARRAY_LINE_ERRORS);
        LAZYARRAY_ALSO(&record->raised, raised);
    }

    typedef struct {
        lazyarray_shared shared;
        PyUFuncGenericFunction loop;
        void *data;
        char *places[3];  /* the input, the factor, the output */
        npy_intp sizes[2], along[2];  /* of the axis that is transformed: of the input, of the output */
        int axes;  /* the others, the last one the fastest */
        npy_intp dims[LAZYARRAY_LINE_AXES], steps[2][LAZYARRAY_LINE_AXES];
        double factor;
    } lazyarray_lines;

    static void lazyarray_run_lines(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_lines *lines = (lazyarray_lines *)record;
        while (begin < end) {
            npy_intp rest = begin, taken = 1, last = 0;
            npy_intp steps[5] = {0, 0, 0, lines->along[0], lines->along[1]}, dims[3];
            char *now[3] = {lines->places[0], (char *)&lines->factor, lines->places[2]};
            int axis;
            for (axis = lines->axes - 1; axis >= 0; axis--) {
                npy_intp at = rest % lines->dims[axis];
                rest /= lines->dims[axis];
                now[0] += at * lines->steps[0][axis];
                now[2] += at * lines->steps[1][axis];
                if (axis == lines->axes - 1) last = at;
            }
            if (lines->axes) {
                taken = lines->dims[lines->axes - 1] - last;
                if (taken > end - begin) taken = end - begin;
                steps[0] = lines->steps[0][lines->axes - 1];
                steps[2] = lines->steps[1][lines->axes - 1];
            }
            dims[0] = taken;
            dims[1] = lines->sizes[0];
            dims[2] = lines->sizes[1];
            lines->loop(now, dims, steps, lines->data);
            begin += taken;
        }
    }

    /* Adds the other axes, the slowest of the output first. */
    static int lazyarray_add_axes(lazyarray_lines *lines, PyArrayObject *a, PyArrayObject *out, int skipped) {
        int axis, at;
        for (axis = 0; axis < PyArray_NDIM(a); axis++) {
            npy_intp step = PyArray_STRIDE(out, axis);
            if (axis == skipped) continue;
            if (PyArray_DIM(a, axis) != PyArray_DIM(out, axis)) return -1;
            if (PyArray_DIM(a, axis) == 1) continue;
            for (at = lines->axes; at > 0 && lines->steps[1][at - 1] < step; at--) {
                lines->dims[at] = lines->dims[at - 1];
                lines->steps[0][at] = lines->steps[0][at - 1];
                lines->steps[1][at] = lines->steps[1][at - 1];
            }
            lines->dims[at] = PyArray_DIM(a, axis);
            lines->steps[0][at] = PyArray_STRIDE(a, axis);
            lines->steps[1][at] = step;
            lines->axes++;
            lines->shared.count *= PyArray_DIM(a, axis);
        }
        return 0;
    }

    static PyObject *lazyarray_lines_of(PyObject *ufunc, PyObject *given, double factor, PyObject *result, int axis) {
        PyUFuncObject *asked = (PyUFuncObject *)ufunc;
        PyArrayObject *a = (PyArrayObject *)given, *out = (PyArrayObject *)result;
        lazyarray_lines *lines;
        PyObject *made;
        float narrow = (float)factor;
        int k, type, real;
        if ((!PyArray_API && _import_array() < 0) || (!PyUFunc_API && _import_umath() < 0)) return NULL;
        if (Py_TYPE(ufunc) != &PyUFunc_Type || !PyArray_CheckExact(given) || !PyArray_CheckExact(result)) Py_RETURN_NONE;
        if (asked->nin != 2 || asked->nout != 1 || !asked->core_enabled || asked->core_num_dim_ix != 2) Py_RETURN_NONE;
        if (asked->core_num_dims[0] != 1 || asked->core_num_dims[1] != 0 || asked->core_num_dims[2] != 1) Py_RETURN_NONE;
        if (PyArray_NDIM(a) != PyArray_NDIM(out) || PyArray_NDIM(a) > LAZYARRAY_LINE_AXES) Py_RETURN_NONE;
        if (axis < 0) axis += PyArray_NDIM(a);
        if (axis < 0 || axis >= PyArray_NDIM(a) || !PyArray_ISWRITEABLE(out)) Py_RETURN_NONE;
        if (!PyArray_ISBEHAVED_RO(a) || !PyArray_ISBEHAVED_RO(out)) Py_RETURN_NONE;
        type = PyArray_TYPE(a);
        real = type == NPY_FLOAT || type == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE;
        for (k = 0; k < asked->ntypes; k++) {
            const char *types = asked->types + (size_t)k * 3;
            if (types[0] == type && types[1] == real && types[2] == PyArray_TYPE(out)) break;
        }
        if (k == asked->ntypes || !asked->functions[k]) Py_RETURN_NONE;
        made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_lines));
        if (!made) return NULL;
        lines = (lazyarray_lines *)PyBytes_AS_STRING(made);
        lines->shared.run = lazyarray_run_lines;
        lines->loop = asked->functions[k];
        lines->data = asked->data ? (void *)asked->data[k] : NULL;
        lines->places[0] = PyArray_BYTES(a);
        lines->places[2] = PyArray_BYTES(out);
        lines->sizes[0] = PyArray_DIM(a, axis);
        lines->sizes[1] = PyArray_DIM(out, axis);
        lines->along[0] = PyArray_STRIDE(a, axis);
        lines->along[1] = PyArray_STRIDE(out, axis);
        lines->axes = 0;
        lines->shared.count = 1;
        lines->shared.raised = 0;
        lines->factor = factor;
        if (real == NPY_FLOAT) memcpy(&lines->factor, &narrow, sizeof(narrow));
        if (lazyarray_add_axes(lines, a, out, axis) < 0) { Py_DECREF(made); Py_RETURN_NONE; }
        return made;
    }

    typedef struct {
        lazyarray_shared shared;
        PyUFuncGenericFunction loop;
        void *data;
        char *from, *into;
        npy_intp step, size, length;
        const npy_intp *starts;
    } lazyarray_segments;

    /* As NumPy's reduceat: the first element copied, the others by the ufunc's loop. */
    static void lazyarray_run_segments(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_segments *segments = (lazyarray_segments *)record;
        for (; begin < end; begin++) {
            npy_intp start = segments->starts[begin], stop = segments->length, count;
            npy_intp steps[3] = {0, segments->step, 0};
            char *into = segments->into + begin * segments->size, *from = segments->from + start * segments->step;
            char *now[3] = {into, from + segments->step, into};
            if (begin + 1 < segments->shared.count) stop = segments->starts[begin + 1];
            memcpy(into, from, segments->size);
            count = stop - start - 1;
            if (count > 0) segments->loop(now, &count, steps, segments->data);
        }
    }

    /* `starts` is in bounds, C-contiguous and of NumPy's own intp; `result` is new. */
    static PyObject *lazyarray_segments_of(PyObject *ufunc, PyObject *given, PyObject *starts, PyObject *result) {
        PyUFuncObject *asked = (PyUFuncObject *)ufunc;
        PyArrayObject *a = (PyArrayObject *)given, *out = (PyArrayObject *)result;
        lazyarray_segments *segments;
        PyObject *made;
        int k, type;
        if ((!PyArray_API && _import_array() < 0) || (!PyUFunc_API && _import_umath() < 0)) return NULL;
        if (Py_TYPE(ufunc) != &PyUFunc_Type || asked->nin != 2 || asked->nout != 1 || asked->core_enabled) Py_RETURN_NONE;
        if (!PyArray_CheckExact(given) || PyArray_NDIM(a) != 1 || !PyArray_ISBEHAVED_RO(a)) Py_RETURN_NONE;
        type = PyArray_TYPE(a);
        for (k = 0; k < asked->ntypes; k++) {
            const char *types = asked->types + (size_t)k * 3;
            if (types[0] == type && types[1] == type && types[2] == type) break;
        }
        if (k == asked->ntypes || !asked->functions[k]) Py_RETURN_NONE;
        made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_segments));
        if (!made) return NULL;
        segments = (lazyarray_segments *)PyBytes_AS_STRING(made);
        segments->shared.run = lazyarray_run_segments;
        segments->loop = asked->functions[k];
        segments->data = asked->data ? (void *)asked->data[k] : NULL;
        segments->from = PyArray_BYTES(a);
        segments->into = PyArray_BYTES(out);
        segments->step = PyArray_STRIDE(a, 0);
        segments->size = PyArray_ITEMSIZE(a);
        segments->length = PyArray_DIM(a, 0);
        segments->shared.count = PyArray_DIM(out, 0);
        segments->starts = (const npy_intp *)PyArray_BYTES((PyArrayObject *)starts);
        segments->shared.raised = 0;
        return made;
    }

    static lazyarray_shared *lazyarray_shared_in(PyObject *record) { return (lazyarray_shared *)PyBytes_AS_STRING(record); }
    static size_t lazyarray_shared_address(PyObject *record) { return (size_t)lazyarray_shared_in(record); }
    static long long lazyarray_shared_count(PyObject *record) { return lazyarray_shared_in(record)->count; }
    static int lazyarray_shared_raised(PyObject *record) { return lazyarray_shared_in(record)->raised != 0; }
    static size_t lazyarray_shared_runner(void) { return (size_t)&lazyarray_run_shared; }
    static void lazyarray_run_alone(PyObject *record) {
        lazyarray_shared *shared = lazyarray_shared_in(record);
        Py_BEGIN_ALLOW_THREADS
        lazyarray_run_shared(shared, 0, shared->count, 0);
        Py_END_ALLOW_THREADS
    }
    """
    object lines_of "lazyarray_lines_of" (object loop, object a, double factor, object out, int axis)
    object segments_of "lazyarray_segments_of" (object ufunc, object a, object starts, object out)
    size_t address_in "lazyarray_shared_address" (object record)
    long long count_in "lazyarray_shared_count" (object record)
    bint raised_in "lazyarray_shared_raised" (object record)
    size_t runner "lazyarray_shared_runner" ()
    void run_alone "lazyarray_run_alone" (object record)
