# C's side of `streams.py`.
from lazyarray.native.lines cimport address_in

cdef extern from *:
    """
    #define LAZYARRAY_DRAWN_AT_ONCE 8192  /* numbers of one part */
    #define LAZYARRAY_DRAWN_ABREAST 4  /* steps that do not wait for each other: a multiplication takes four cycles */

    #ifdef __SIZEOF_INT128__
    typedef unsigned __int128 lazyarray_wide;
    #define LAZYARRAY_WIDE(upper, lower) (((lazyarray_wide)(upper) << 64) | (lower))
    /* PCG_DEFAULT_MULTIPLIER of numpy/random/src/pcg64/pcg64.h: state' = state * factor + step. */
    #define LAZYARRAY_FACTOR LAZYARRAY_WIDE(2549297995355413924ULL, 4865540595714422341ULL)

    typedef struct {
        lazyarray_shared shared;
        double *out;
        npy_intp length;
        unsigned long long state[2], step[2];
        double low, width;
        int scaled;
    } lazyarray_draws;

    /* `count` steps at once: x -> factor^count * x + c (F. Brown, "Random number generation with arbitrary strides",
       1994), as NumPy's `pcg_advance_lcg_128`. */
    static void lazyarray_steps(lazyarray_wide step, npy_uint64 count, lazyarray_wide *factor, lazyarray_wide *sum) {
        lazyarray_wide by = LAZYARRAY_FACTOR;
        *factor = 1;
        *sum = 0;
        for (; count; count >>= 1) {
            if (count & 1) {
                *factor *= by;
                *sum = *sum * by + step;
            }
            step *= by + 1;
            by *= by;
        }
    }

    /* XSL-RR, and the upper 53 bits as a fraction, as `pcg64_next64` and `next_double` there. */
    static inline double lazyarray_fraction(lazyarray_wide state) {
        npy_uint64 folded = (npy_uint64)(state >> 64) ^ (npy_uint64)state;
        unsigned turn = (unsigned)(state >> 122);
        folded = (folded >> turn) | (folded << (-turn & 63));
        return (double)(folded >> 11) * (1.0 / 9007199254740992.0);
    }

    static void lazyarray_draw(double *out, npy_intp length, lazyarray_wide state, lazyarray_wide step) {
        lazyarray_wide abreast[LAZYARRAY_DRAWN_ABREAST], factor, sum;
        npy_intp at;
        int k;
        for (k = 0; k < LAZYARRAY_DRAWN_ABREAST; k++) abreast[k] = state = state * LAZYARRAY_FACTOR + step;
        lazyarray_steps(step, LAZYARRAY_DRAWN_ABREAST, &factor, &sum);
        for (at = 0; at + LAZYARRAY_DRAWN_ABREAST <= length; at += LAZYARRAY_DRAWN_ABREAST) {
    #ifdef __GNUC__
    #pragma GCC unroll 4
    #endif
            for (k = 0; k < LAZYARRAY_DRAWN_ABREAST; k++) {
                out[at + k] = lazyarray_fraction(abreast[k]);
                abreast[k] = abreast[k] * factor + sum;
            }
        }
        for (k = 0; at < length; k++, at++) out[at] = lazyarray_fraction(abreast[k]);
    }

    static void lazyarray_run_draws(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_draws *draws = (lazyarray_draws *)record;
        lazyarray_wide state = LAZYARRAY_WIDE(draws->state[0], draws->state[1]);
        lazyarray_wide step = LAZYARRAY_WIDE(draws->step[0], draws->step[1]);
        for (; begin < end; begin++) {
            npy_intp first = begin * LAZYARRAY_DRAWN_AT_ONCE, length = draws->length - first, at;
            double *out = draws->out + first;
            lazyarray_wide factor, sum;
            if (length > LAZYARRAY_DRAWN_AT_ONCE) length = LAZYARRAY_DRAWN_AT_ONCE;
            lazyarray_steps(step, first, &factor, &sum);
            lazyarray_draw(out, length, state * factor + sum, step);
            if (draws->scaled) {
                for (at = 0; at < length; at++) out[at] = draws->low + draws->width * out[at];
            }
        }
    }

    static PyObject *lazyarray_draws_of(
            PyObject *result, PyObject *state, PyObject *step, double low, double width, int scaled) {
        PyArrayObject *out = (PyArrayObject *)result;
        lazyarray_draws *draws;
        PyObject *made;
        int k;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (!PyArray_CheckExact(result) || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)) Py_RETURN_NONE;
        made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_draws));
        if (!made) return NULL;
        draws = (lazyarray_draws *)PyBytes_AS_STRING(made);
        draws->shared.run = lazyarray_run_draws;
        draws->shared.count = (PyArray_SIZE(out) + LAZYARRAY_DRAWN_AT_ONCE - 1) / LAZYARRAY_DRAWN_AT_ONCE;
        draws->shared.raised = 0;
        draws->out = (double *)PyArray_BYTES(out);
        draws->length = PyArray_SIZE(out);
        draws->low = low;
        draws->width = width;
        draws->scaled = scaled;
        for (k = 0; k < 2; k++) {
            draws->state[k] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(state, k));
            draws->step[k] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(step, k));
        }
        if (PyErr_Occurred()) { Py_DECREF(made); return NULL; }
        return made;
    }
    #else
    static PyObject *lazyarray_draws_of(
            PyObject *result, PyObject *state, PyObject *step, double low, double width, int scaled) {
        (void)result; (void)state; (void)step; (void)low; (void)width; (void)scaled;
        Py_RETURN_NONE;
    }
    #endif

    """
    object draws_of "lazyarray_draws_of" (object out, tuple state, tuple step, double low, double width, bint scaled)
