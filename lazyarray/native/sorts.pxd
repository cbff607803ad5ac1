# C's side of `sorts.py`.
from lazyarray.native.lines cimport runner
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(__GNUC__) && defined(__x86_64__)
    #include <cpuid.h>
    #endif

    #ifdef _MSC_VER
    #define LAZYARRAY_MORE(word, count) _InterlockedExchangeAdd64((volatile __int64 *)(word), (count))
    #else
    #define LAZYARRAY_MORE(word, count) __atomic_fetch_add((word), (count), __ATOMIC_RELAXED)
    #endif
    /* Neighbours that are gathered at once: a cache line has 8 or 16 numbers. So many bytes of them, or one. */
    #define LAZYARRAY_LANES 16
    #define LAZYARRAY_GATHERED (1 << 24)
    #define LAZYARRAY_PIECE (1 << 11)  /* bytes that NumPy sorts by networks alone */
    #define LAZYARRAY_MOST_CHUNKS 16
    #define LAZYARRAY_MERGED 8192  /* results that a thread takes at once */
    #define LAZYARRAY_STREAMS 4  /* merges that go on beside one another: each step waits for the one before */

    /* How many are NaN; how many are that, or zeros with a sign. */
    #define LAZYARRAY_COUNT(KIND, NAME, TARGET, TYPE, BITS, TEST) \\
        TARGET LAZYARRAY_COMPARES static npy_intp lazyarray_count_##KIND##_##NAME(const char *given, npy_intp n) { \\
            npy_intp found = 0; \\
            while (n > 0) { \\
                npy_intp taken = n < 4096 ? n : 4096, j; \\
                BITS some = 0; \\
                for (j = 0; j < taken; j++) { \\
                    TYPE x; \\
                    BITS bits; \\
                    memcpy(&x, given + j * sizeof(TYPE), sizeof(TYPE)); \\
                    memcpy(&bits, given + j * sizeof(TYPE), sizeof(TYPE)); \\
                    (void)bits; \\
                    some += TEST; \\
                } \\
                found += some; \\
                given += taken * sizeof(TYPE); \\
                n -= taken; \\
            } \\
            return found; \\
        }
    #define LAZYARRAY_COUNT_NANS(NAME, TARGET, TYPE, BITS) LAZYARRAY_COUNT(nans, NAME, TARGET, TYPE, BITS, x != x)
    #define LAZYARRAY_COUNT_ODD(NAME, TARGET, TYPE, BITS, LEAST) \\
        LAZYARRAY_COUNT(odd, NAME, TARGET, TYPE, BITS, (x != x) | (bits == LEAST))
    LAZYARRAY_BOTH(LAZYARRAY_COUNT_NANS, double, npy_double, npy_int64)
    LAZYARRAY_BOTH(LAZYARRAY_COUNT_NANS, float, npy_float, npy_int32)
    LAZYARRAY_BOTH(LAZYARRAY_COUNT_ODD, double, npy_double, npy_int64, NPY_MIN_INT64)
    LAZYARRAY_BOTH(LAZYARRAY_COUNT_ODD, float, npy_float, npy_int32, NPY_MIN_INT32)
    /* Merges two rising vectors, from one result to another. */
    typedef void lazyarray_merge(const char *from, const npy_intp *starts, const npy_intp *ends, npy_intp k, npy_intp first,
                                 npy_intp stop, char *into);

    /* Whether there are zeros of both signs. NumPy's vectors of the greater and the less of two of them are one of them. */
    #define LAZYARRAY_ZEROS(NAME, TARGET, TYPE) \\
        TARGET LAZYARRAY_COMPARES static int lazyarray_mixes_zeros_##NAME(const char *given, npy_intp n) { \\
            const TYPE *x = (const TYPE *)given; \\
            npy_intp zeros = 0, negative = 0, j; \\
            for (j = 0; j < n; j++) { \\
                zeros += x[j] == 0; \\
                negative += (x[j] == 0) & (npy_signbit(x[j]) != 0); \\
            } \\
            return negative && negative < zeros; \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_ZEROS, double, npy_double)
    LAZYARRAY_BOTH(LAZYARRAY_ZEROS, float, npy_float)

    /* How a line is sorted: by NumPy's loop, or by that in pieces, which are merged. */
    typedef struct {
        PyArray_SortFunc *sort;
        lazyarray_merge *merge;  /* NULL: not in pieces */
        npy_intp (*count_odd)(const char *x, npy_intp n);  /* NULL: equal numbers have the same bits */
        npy_intp size;
    } lazyarray_sorting;

    typedef struct lazyarray_lanes {
        lazyarray_shared shared;
        /* What is made of a line; nonzero: failed. Lines are sorted where they lie. */
        int (*make)(const struct lazyarray_lanes *lanes, char *line, char *result);
        lazyarray_sorting sorting;
        const char *from;
        char *into;
        npy_intp length, inner, groups, width, itemsize, made;  /* `made`: bytes of a result */
        int in_place, failed;
    } lazyarray_lanes;

    /* Whether NumPy's sorts are slow but for few numbers, though of AVX-512: they store compressed vectors, which AMD's
       Zen 4 does by microcode. By the family: Zen 3 is of the same one, and has no AVX-512. */
    static int lazyarray_in_pieces(void) {
        #if defined(__GNUC__) && defined(__x86_64__)
        static int known = -1;
        unsigned eax = 0, ebx, ecx, edx;
        if (known < 0) {
            if (!__builtin_cpu_is("amd") || !__builtin_cpu_supports("avx512f")) known = 0;
            else known = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ((eax >> 8) & 15) + ((eax >> 20) & 255) == 0x19;
        }
        return known;
        #else
        return 0;
        #endif
    }

    /* The numbers, or what they are sorted to, at the end in `spare` if `over`. -1: NumPy's loop failed. */
    static int lazyarray_sort_pieces(const lazyarray_sorting *how, char *x, npy_intp n, char *spare, int over) {
        npy_intp starts[2], ends[2];
        if (n * how->size <= LAZYARRAY_PIECE) {
            if (how->sort(x, n, NULL) < 0) return -1;
            if (over) memcpy(spare, x, n * how->size);
            return 0;
        }
        starts[0] = 0;
        starts[1] = ends[0] = n / 2;
        ends[1] = n;
        if (lazyarray_sort_pieces(how, x, n / 2, spare, !over) < 0) return -1;
        if (lazyarray_sort_pieces(how, x + n / 2 * how->size, n - n / 2, spare + n / 2 * how->size, !over) < 0) return -1;
        how->merge(over ? x : spare, starts, ends, 0, 0, n, over ? spare : x);
        return 0;
    }

    static int lazyarray_sort_line(const lazyarray_sorting *how, char *x, npy_intp n) {
        char *spare = NULL;
        int failed;
        if (how->merge && n * how->size > LAZYARRAY_PIECE && !(how->count_odd && how->count_odd(x, n)))
            spare = (char *)malloc(n * how->size);
        failed = spare ? lazyarray_sort_pieces(how, x, n, spare, 0) : how->sort(x, n, NULL);
        free(spare);
        return failed;
    }

    static void lazyarray_gather(const char *from, npy_intp step, char *into, npy_intp length, npy_intp n, npy_intp size) {
        npy_intp k, j;
        #define LAZYARRAY_GATHER(TYPE) \\
            for (k = 0; k < length; k++) \\
                for (j = 0; j < n; j++) ((TYPE *)into)[j * length + k] = ((const TYPE *)(from + k * step))[j];
        switch (size) {
            case 8: LAZYARRAY_GATHER(npy_uint64) return;
            case 4: LAZYARRAY_GATHER(npy_uint32) return;
        }
        for (k = 0; k < length; k++)
            for (j = 0; j < n; j++) memcpy(into + (j * length + k) * size, from + k * step + j * size, size);
    }

    static void lazyarray_scatter(const char *from, char *into, npy_intp step, npy_intp length, npy_intp n, npy_intp size) {
        npy_intp k, j;
        #define LAZYARRAY_SCATTER(TYPE) \\
            for (k = 0; k < length; k++) \\
                for (j = 0; j < n; j++) ((TYPE *)(into + k * step))[j] = ((const TYPE *)from)[j * length + k];
        switch (size) {
            case 8: LAZYARRAY_SCATTER(npy_uint64) return;
            case 4: LAZYARRAY_SCATTER(npy_uint32) return;
        }
        for (k = 0; k < length; k++)
            for (j = 0; j < n; j++) memcpy(into + k * step + j * size, from + (j * length + k) * size, size);
    }

    static int lazyarray_sort_lane(const lazyarray_lanes *lanes, char *line, char *result) {
        (void)result;
        return lazyarray_sort_line(&lanes->sorting, line, lanes->length) < 0;
    }

    static void lazyarray_run_lanes(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_lanes *lanes = (lazyarray_lanes *)record;
        npy_intp size = lanes->itemsize, made = lanes->made, line = lanes->length * size, result = lanes->length * made, j;
        char *lines = NULL, *results = NULL;
        int failed = 0;
        if (lanes->inner > 1) {
            lines = (char *)malloc(lanes->width * line);
            results = lanes->in_place ? lines : (char *)malloc(lanes->width * result);
            failed = !lines || !results;
        }
        for (; begin < end && !failed; begin++) {
            npy_intp outer = begin / lanes->groups, first = begin % lanes->groups * lanes->width, step = lanes->inner;
            npy_intp at = outer * lanes->length * step + first, n = step - first < lanes->width ? step - first : lanes->width;
            char *from = (char *)lanes->from + at * size, *into = lanes->into + at * made;
            if (lanes->inner == 1 && lanes->in_place) {
                if (into != from) memcpy(into, from, line);
                failed = lanes->make(lanes, into, into);
            } else if (lanes->inner == 1) {
                failed = lanes->make(lanes, from, into);
            } else {
                lazyarray_gather(from, step * size, lines, lanes->length, n, size);
                for (j = 0; j < n; j++) failed |= lanes->make(lanes, lines + j * line, results + j * result);
                lazyarray_scatter(results, into, step * made, lanes->length, n, made);
            }
        }
        if (results != lines) free(results);
        free(lines);
        if (failed) LAZYARRAY_ALSO(&lanes->failed, 1);
    }

    /* How many neighbours are gathered at once. */
    static npy_intp lazyarray_width_of(npy_intp line, npy_intp inner) {
        npy_intp width = LAZYARRAY_GATHERED / line;
        if (width > LAZYARRAY_LANES) width = LAZYARRAY_LANES;
        if (width > inner) width = inner;
        return width < 1 ? 1 : width;
    }

    static void lazyarray_fill_lanes(lazyarray_lanes *lanes, PyArrayObject *a, PyArrayObject *result, PyObject *shape) {
        lanes->from = PyArray_BYTES(a);
        lanes->into = PyArray_BYTES(result);
        lanes->length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 1));
        lanes->inner = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 2));
        lanes->itemsize = PyArray_ITEMSIZE(a);
        lanes->made = PyArray_ITEMSIZE(result);
        lanes->width = lazyarray_width_of(lanes->length * lanes->itemsize, lanes->inner);
        lanes->groups = (lanes->inner + lanes->width - 1) / lanes->width;
        lanes->failed = 0;
        lanes->shared.run = lazyarray_run_lanes;
        lanes->shared.raised = 0;
        lanes->shared.count = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0)) * lanes->groups;
    }

    static int lazyarray_lanes_failed(PyObject *record) { return ((lazyarray_lanes *)PyBytes_AS_STRING(record))->failed; }

    /* Parts of a vector that are sorted, or two by two merged. Part `k` lies from `starts[k]` to `ends[k]`. */
    typedef struct lazyarray_chunks {
        lazyarray_shared shared;
        lazyarray_sorting sorting;
        lazyarray_merge *merge;
        void (*fill)(const struct lazyarray_chunks *chunks, npy_intp begin, npy_intp end);  /* what is sorted */
        int (*settle)(struct lazyarray_chunks *chunks);
        int (*mixes_zeros)(const char *x, npy_intp n);  /* both NULL where equal numbers have the same bits */
        const char *from;
        char *into;
        npy_intp length, itemsize, numbers, starts[LAZYARRAY_MOST_CHUNKS], ends[LAZYARRAY_MOST_CHUNKS];
        int count, failed;
        char nan[16];
    } lazyarray_chunks;

    static void lazyarray_copy_chunk(const lazyarray_chunks *chunks, npy_intp begin, npy_intp end) {
        npy_intp size = chunks->itemsize;
        memcpy(chunks->into + begin * size, chunks->from + begin * size, (end - begin) * size);
    }

    static void lazyarray_sort_chunks(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_chunks *chunks = (lazyarray_chunks *)record;
        for (; begin < end; begin++) {
            npy_intp first = chunks->starts[begin], stop = chunks->ends[begin];
            char *into = chunks->into + first * chunks->itemsize;
            chunks->fill(chunks, first, stop);
            if ((chunks->mixes_zeros && chunks->mixes_zeros(into, stop - first))
                || lazyarray_sort_line(&chunks->sorting, into, stop - first) < 0)
                LAZYARRAY_ALSO(&chunks->failed, 1);
        }
    }

    static void lazyarray_fill_chunks(lazyarray_chunks *chunks, PyArrayObject *a, PyArrayObject *spare, int count) {
        int k;
        chunks->from = PyArray_BYTES(a);
        chunks->into = PyArray_BYTES(spare);
        chunks->length = chunks->numbers = PyArray_SIZE(a);
        chunks->itemsize = PyArray_ITEMSIZE(spare);
        chunks->count = count;
        chunks->failed = 0;
        for (k = 0; k < count; k++) {
            chunks->starts[k] = chunks->length / count * k;
            chunks->ends[k] = k + 1 < count ? chunks->length / count * (k + 1) : chunks->length;
        }
        chunks->shared.run = lazyarray_sort_chunks;
        chunks->shared.raised = 0;
        chunks->shared.count = count;
    }

    static void lazyarray_merge_chunks(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_chunks *chunks = (lazyarray_chunks *)record;
        npy_intp first = begin * LAZYARRAY_MERGED, stop = end * LAZYARRAY_MERGED, before = 0, size = chunks->itemsize, n;
        int k;
        if (stop > chunks->numbers) stop = chunks->numbers;
        for (k = 0; k < chunks->count && before < stop; k += 2, before += n) {
            npy_intp from = first > before ? first - before : 0, to;
            n = chunks->ends[k] - chunks->starts[k] + chunks->ends[k + 1] - chunks->starts[k + 1];
            to = stop - before < n ? stop - before : n;
            if (from < to) chunks->merge(chunks->from, chunks->starts, chunks->ends, k, from, to, chunks->into + before * size);
        }
    }

    /* Of two rising vectors, the results from one place to another; an element of `y` goes before its equals in `x` never. */
    #define LAZYARRAY_MERGE(NAME, TYPE) \\
        static npy_intp lazyarray_cut_##NAME(const TYPE *x, npy_intp nx, const TYPE *y, npy_intp ny, npy_intp before) { \\
            npy_intp low = before > ny ? before - ny : 0, high = before < nx ? before : nx; \\
            while (low < high) { \\
                npy_intp middle = low + (high - low) / 2; \\
                if (y[before - 1 - middle] < x[middle]) high = middle; \\
                else low = middle + 1; \\
            } \\
            return low; \\
        } \\
        /* How many results come before the last number of that vector which ends first. */ \\
        static npy_intp lazyarray_until_##NAME(const TYPE *x, npy_intp nx, const TYPE *y, npy_intp ny) { \\
            const int x_ends = nx && ny && !(y[ny - 1] < x[nx - 1]); \\
            const TYPE *among = x_ends ? y : x, *last = x_ends ? x + nx - 1 : y + ny - 1; \\
            npy_intp low = 0, high = x_ends ? ny : nx; \\
            if (!nx || !ny) return 0; \\
            while (low < high) { \\
                npy_intp middle = low + (high - low) / 2; \\
                if (x_ends ? among[middle] < *last : among[middle] <= *last) low = middle + 1; \\
                else high = middle; \\
            } \\
            return low + (x_ends ? nx : ny) - 1; \\
        } \\
        LAZYARRAY_VECTORS static void lazyarray_merge_##NAME( \\
            const char *from, const npy_intp *starts, const npy_intp *ends, npy_intp k, npy_intp first, npy_intp stop, char *to \\
        ) { \\
            const TYPE *x = (const TYPE *)from + starts[k], *y = (const TYPE *)from + starts[k + 1]; \\
            npy_intp nx = ends[k] - starts[k], ny = ends[k + 1] - starts[k + 1], each = 0; \\
            npy_intp until = lazyarray_until_##NAME(x, nx, y, ny); \\
            npy_intp i[LAZYARRAY_STREAMS + 1], j[LAZYARRAY_STREAMS + 1], at = first, s, n; \\
            TYPE *out = (TYPE *)to; \\
            if (until > stop) until = stop; \\
            if (until > first) each = (until - first) / LAZYARRAY_STREAMS; \\
            for (s = 0; s <= LAZYARRAY_STREAMS; s++) { \\
                i[s] = lazyarray_cut_##NAME(x, nx, y, ny, first + s * each); \\
                j[s] = first + s * each - i[s]; \\
            } \\
            /* No stream reads beyond where the next one begins, which is there. */ \\
            if (each) { \\
                const TYPE *x0 = x + i[0], *x1 = x + i[1], *x2 = x + i[2], *x3 = x + i[3]; \\
                const TYPE *y0 = y + j[0], *y1 = y + j[1], *y2 = y + j[2], *y3 = y + j[3]; \\
                TYPE *o0 = out + first, *o1 = o0 + each, *o2 = o1 + each, *o3 = o2 + each; \\
                for (n = 0; n < each; n++) { \\
                    LAZYARRAY_STEP(TYPE, 0) LAZYARRAY_STEP(TYPE, 1) LAZYARRAY_STEP(TYPE, 2) LAZYARRAY_STEP(TYPE, 3) \\
                } \\
                at = first + LAZYARRAY_STREAMS * each; \\
            } \\
            x += lazyarray_cut_##NAME(x, nx, y, ny, at); \\
            y += at - (x - ((const TYPE *)from + starts[k])); \\
            for (; at < stop; at++) { \\
                const TYPE *xs = (const TYPE *)from + ends[k], *ys = (const TYPE *)from + ends[k + 1]; \\
                out[at] = x == xs || (y != ys && *y < *x) ? *y++ : *x++; \\
            } \\
        }
    #define LAZYARRAY_STEP(TYPE, S) { \\
        const TYPE left = *x##S, right = *y##S; \\
        const npy_intp taken = right < left; \\
        o##S[n] = taken ? right : left; \\
        y##S += taken; \\
        x##S += 1 - taken; \\
    }
    LAZYARRAY_MERGE(double, npy_double)
    LAZYARRAY_MERGE(float, npy_float)
    LAZYARRAY_MERGE(long, npy_int64)
    LAZYARRAY_MERGE(ulong, npy_uint64)
    LAZYARRAY_MERGE(int, npy_int32)
    LAZYARRAY_MERGE(uint, npy_uint32)

    /* Of sorted floats, NaN behind all: parts end before it. 0 where equal numbers have other bits. */
    #define LAZYARRAY_SETTLE(NAME, TYPE) \\
        static npy_intp lazyarray_find_##NAME(const TYPE *x, npy_intp low, npy_intp high, int until_nan, int beyond) { \\
            while (low < high) { \\
                npy_intp middle = low + (high - low) / 2; \\
                TYPE v = x[middle]; \\
                if (v != v ? 0 : until_nan || (beyond ? v <= 0 : v < 0)) low = middle + 1; \\
                else high = middle; \\
            } \\
            return low; \\
        } \\
        static int lazyarray_settle_##NAME(lazyarray_chunks *chunks) { \\
            const TYPE *x = (const TYPE *)chunks->into; \\
            const TYPE *nan = NULL; \\
            npy_intp j, signs[2] = {0, 0}; \\
            int k; \\
            for (k = 0; k < chunks->count; k++) { \\
                npy_intp end = lazyarray_find_##NAME(x, chunks->starts[k], chunks->ends[k], 1, 0); \\
                npy_intp zeros = lazyarray_find_##NAME(x, chunks->starts[k], end, 0, 0); \\
                npy_intp beyond = lazyarray_find_##NAME(x, zeros, end, 0, 1); \\
                for (j = zeros; j < beyond; j++) signs[npy_signbit(x[j]) != 0]++; \\
                for (j = end; j < chunks->ends[k]; j++) { \\
                    if (!nan) nan = x + j; \\
                    if (memcmp(nan, x + j, sizeof(TYPE))) return 0; \\
                } \\
                chunks->numbers -= chunks->ends[k] - end; \\
                chunks->ends[k] = end; \\
            } \\
            if (nan) memcpy(chunks->nan, nan, sizeof(TYPE)); \\
            return !(signs[0] && signs[1]); \\
        }
    LAZYARRAY_SETTLE(double, npy_double)
    LAZYARRAY_SETTLE(float, npy_float)

    /* Also what merges two lines, which is for few dtypes: NULL for others. */
    static lazyarray_merge *lazyarray_find_sorting(PyArrayObject *a, lazyarray_sorting *how) {
        lazyarray_merge *merge = NULL;
        how->sort = PyDataType_GetArrFuncs(PyArray_DESCR(a))->sort[NPY_QUICKSORT];
        how->count_odd = NULL;
        how->size = PyArray_ITEMSIZE(a);
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: merge = lazyarray_merge_double; how->count_odd = LAZYARRAY_PICK(count_odd, double); break;
            case NPY_FLOAT: merge = lazyarray_merge_float; how->count_odd = LAZYARRAY_PICK(count_odd, float); break;
            case NPY_INT64: merge = lazyarray_merge_long; break;
            case NPY_UINT64: merge = lazyarray_merge_ulong; break;
            case NPY_INT32: merge = lazyarray_merge_int; break;
            case NPY_UINT32: merge = lazyarray_merge_uint; break;
        }
        how->merge = lazyarray_in_pieces() ? merge : NULL;
        return merge;
    }

    static PyObject *lazyarray_lanes_of(PyObject *given, PyObject *result, PyObject *shape, int kind) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_lanes *lanes;
        PyObject *made;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (!PyArray_ISNUMBER(a) || !PyDataType_GetArrFuncs(PyArray_DESCR(a))->sort[kind]) Py_RETURN_NONE;
        if (!PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY((PyArrayObject *)result)) Py_RETURN_NONE;
        if (!(made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_lanes)))) return NULL;
        lanes = (lazyarray_lanes *)PyBytes_AS_STRING(made);
        lazyarray_find_sorting(a, &lanes->sorting);
        lanes->sorting.sort = PyDataType_GetArrFuncs(PyArray_DESCR(a))->sort[kind];
        if (kind != NPY_QUICKSORT) lanes->sorting.merge = NULL;
        lanes->make = lazyarray_sort_lane;
        lanes->in_place = 1;
        lazyarray_fill_lanes(lanes, a, (PyArrayObject *)result, shape);
        return made;
    }

    static PyObject *lazyarray_chunks_of(PyObject *given, PyObject *spare, int count) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_chunks *chunks;
        PyObject *made;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (count > LAZYARRAY_MOST_CHUNKS || !PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY((PyArrayObject *)spare)) Py_RETURN_NONE;
        if (!PyDataType_GetArrFuncs(PyArray_DESCR(a))->sort[NPY_QUICKSORT]) Py_RETURN_NONE;
        if (!(made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_chunks)))) return NULL;
        chunks = (lazyarray_chunks *)PyBytes_AS_STRING(made);
        chunks->merge = lazyarray_find_sorting(a, &chunks->sorting);
        if (!chunks->merge) {
            Py_DECREF(made);
            Py_RETURN_NONE;
        }
        chunks->settle = NULL;
        chunks->mixes_zeros = NULL;
        if (PyArray_TYPE(a) == NPY_DOUBLE) {
            chunks->settle = lazyarray_settle_double;
            chunks->mixes_zeros = LAZYARRAY_PICK(mixes_zeros, double);
        } else if (PyArray_TYPE(a) == NPY_FLOAT) {
            chunks->settle = lazyarray_settle_float;
            chunks->mixes_zeros = LAZYARRAY_PICK(mixes_zeros, float);
        }
        chunks->fill = lazyarray_copy_chunk;
        lazyarray_fill_chunks(chunks, a, (PyArrayObject *)spare, count);
        return made;
    }

    static int lazyarray_are_mergeable(PyObject *record) {
        lazyarray_chunks *chunks = (lazyarray_chunks *)PyBytes_AS_STRING(record);
        return !chunks->failed && (!chunks->settle || chunks->settle(chunks));
    }

    static PyObject *lazyarray_merge_of(PyObject *record, PyObject *result) {
        lazyarray_chunks *before = (lazyarray_chunks *)PyBytes_AS_STRING(record), *chunks;
        PyObject *made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_chunks));
        npy_intp at = 0, k;
        if (!made) return NULL;
        chunks = (lazyarray_chunks *)PyBytes_AS_STRING(made);
        *chunks = *before;
        /* What was merged before lies without gaps. */
        if (before->shared.run == lazyarray_merge_chunks) {
            chunks->count = before->count / 2;
            for (k = 0; k < chunks->count; k++) {
                chunks->starts[k] = at;
                at += before->ends[2 * k] - before->starts[2 * k] + before->ends[2 * k + 1] - before->starts[2 * k + 1];
                chunks->ends[k] = at;
            }
        }
        chunks->from = before->into;
        chunks->into = PyArray_BYTES((PyArrayObject *)result);
        chunks->shared.run = lazyarray_merge_chunks;
        chunks->shared.count = (chunks->numbers + LAZYARRAY_MERGED - 1) / LAZYARRAY_MERGED;
        if (chunks->count == 2)
            for (k = chunks->numbers; k < chunks->length; k++)
                memcpy(chunks->into + k * chunks->itemsize, chunks->nan, chunks->itemsize);
        return made;
    }
    """
    object lanes_of "lazyarray_lanes_of" (object a, object out, tuple lanes, int kind)
    object chunks_of "lazyarray_chunks_of" (object a, object spare, int chunks)
    bint are_mergeable "lazyarray_are_mergeable" (object record)
    object merge_of "lazyarray_merge_of" (object record, object out)
    bint has_failed "lazyarray_lanes_failed" (object record)
    bint in_pieces "lazyarray_in_pieces" ()
