# C's side of `distinct.py`.
from lazyarray.native.sorts cimport lanes_of
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #include <math.h>
    #include <stdlib.h>

    #define LAZYARRAY_BESIDE_TABLES 1024  /* numbers of which there are several tables: equal ones wait for one another */
    #define LAZYARRAY_CHANGES 128  /* neighbours that are compared at once: where all are equal, nothing is written */
    #define LAZYARRAY_WIDEST (1 << 30)  /* floating-point numbers that may be counted as integers: to it and from it, */
    #define LAZYARRAY_WHOLE_FIRST 64  /* of which so many are looked at */
    #define LAZYARRAY_WHOLE_PART 4096  /* before so many at once */

    /* ---- integers of a narrow range, counted in a table */

    typedef struct lazyarray_tally {
        npy_uint64 least;
        npy_intp span, count;  /* numbers from the least to the greatest; those that there are */
        npy_uint32 *table;  /* how often each of them; when these are known, which of the distinct ones it is */
    } lazyarray_tally;

    #define LAZYARRAY_TALLY(NAME, TARGET, TYPE, UNSIGNED) \\
        /* The greatest less the least, which is told, too. */ \\
        TARGET LAZYARRAY_VECTORS static npy_uint64 lazyarray_span_##NAME(const char *given, npy_intp n, npy_uint64 *told) { \\
            const TYPE *x = (const TYPE *)given; \\
            TYPE least = x[0], most = x[0]; \\
            npy_intp j; \\
            for (j = 0; j < n; j++) { \\
                least = x[j] < least ? x[j] : least; \\
                most = x[j] > most ? x[j] : most; \\
            } \\
            *told = (npy_uint64)least; \\
            return (UNSIGNED)((UNSIGNED)most - (UNSIGNED)least); \\
        }
    #define LAZYARRAY_TABLE(NAME, TYPE, UNSIGNED) \\
        LAZYARRAY_BOTH(LAZYARRAY_TALLY, NAME, TYPE, UNSIGNED) \\
        static void lazyarray_tally_##NAME(const char *given, npy_intp n, const lazyarray_tally *tally, int tables) { \\
            const TYPE *x = (const TYPE *)given; \\
            const UNSIGNED least = (UNSIGNED)tally->least; \\
            const npy_intp step = tables > 1 ? tally->span : 0; \\
            npy_uint32 *t0 = tally->table, *t1 = t0 + step, *t2 = t1 + step, *t3 = t2 + step; \\
            npy_intp j = 0; \\
            for (; j + 4 <= n; j += 4) { \\
                t0[(UNSIGNED)((UNSIGNED)x[j] - least)]++; \\
                t1[(UNSIGNED)((UNSIGNED)x[j + 1] - least)]++; \\
                t2[(UNSIGNED)((UNSIGNED)x[j + 2] - least)]++; \\
                t3[(UNSIGNED)((UNSIGNED)x[j + 3] - least)]++; \\
            } \\
            for (; j < n; j++) t0[(UNSIGNED)((UNSIGNED)x[j] - least)]++; \\
        } \\
        static void lazyarray_list_##NAME(const lazyarray_tally *tally, char *values, npy_intp *counts) { \\
            npy_intp k, found = 0; \\
            for (k = 0; k < tally->span; k++) \\
                if (tally->table[k]) { \\
                    ((TYPE *)values)[found] = (TYPE)((UNSIGNED)tally->least + (UNSIGNED)k); \\
                    if (counts) counts[found] = tally->table[k]; \\
                    tally->table[k] = (npy_uint32)found++; \\
                } \\
        } \\
        static void lazyarray_number_##NAME(const char *given, npy_intp n, const lazyarray_tally *tally, npy_intp *into) { \\
            const TYPE *x = (const TYPE *)given; \\
            const UNSIGNED least = (UNSIGNED)tally->least; \\
            npy_intp j; \\
            for (j = 0; j < n; j++) into[j] = tally->table[(UNSIGNED)((UNSIGNED)x[j] - least)]; \\
        } \\
        /* Where each is met first: most are soon. */ \\
        static void lazyarray_meet_##NAME(const char *given, npy_intp n, const lazyarray_tally *tally, npy_intp *first) { \\
            const TYPE *x = (const TYPE *)given; \\
            const UNSIGNED least = (UNSIGNED)tally->least; \\
            npy_intp j, left = tally->count; \\
            for (j = 0; j < left; j++) first[j] = -1; \\
            for (j = 0; j < n && left; j++) { \\
                npy_intp *place = first + tally->table[(UNSIGNED)((UNSIGNED)x[j] - least)]; \\
                if (*place < 0) { *place = j; left--; } \\
            } \\
        }
    LAZYARRAY_TABLE(byte, npy_int8, npy_uint8)
    LAZYARRAY_TABLE(ubyte, npy_uint8, npy_uint8)
    LAZYARRAY_TABLE(short, npy_int16, npy_uint16)
    LAZYARRAY_TABLE(ushort, npy_uint16, npy_uint16)
    LAZYARRAY_TABLE(int, npy_int32, npy_uint32)
    LAZYARRAY_TABLE(uint, npy_uint32, npy_uint32)
    LAZYARRAY_TABLE(long, npy_int64, npy_uint64)
    LAZYARRAY_TABLE(ulong, npy_uint64, npy_uint64)

    typedef struct {
        npy_uint64 (*span)(const char *x, npy_intp n, npy_uint64 *least);
        void (*tally)(const char *x, npy_intp n, const lazyarray_tally *tally, int tables);
        void (*list)(const lazyarray_tally *tally, char *values, npy_intp *counts);
        void (*number)(const char *x, npy_intp n, const lazyarray_tally *tally, npy_intp *into);
        void (*meet)(const char *x, npy_intp n, const lazyarray_tally *tally, npy_intp *first);
    } lazyarray_counting;

    #define LAZYARRAY_COUNTS_OF(NAME) \\
        how->span = LAZYARRAY_PICK(span, NAME); \\
        how->tally = lazyarray_tally_##NAME; \\
        how->list = lazyarray_list_##NAME; \\
        how->number = lazyarray_number_##NAME; \\
        how->meet = lazyarray_meet_##NAME; \\
        return 1;
    static int lazyarray_find_counting(PyArrayObject *a, lazyarray_counting *how) {
        int is_signed = PyArray_ISSIGNED(a);
        switch (PyArray_ITEMSIZE(a)) {
            case 1: if (is_signed) { LAZYARRAY_COUNTS_OF(byte) } LAZYARRAY_COUNTS_OF(ubyte)
            case 2: if (is_signed) { LAZYARRAY_COUNTS_OF(short) } LAZYARRAY_COUNTS_OF(ushort)
            case 4: if (is_signed) { LAZYARRAY_COUNTS_OF(int) } LAZYARRAY_COUNTS_OF(uint)
            case 8: if (is_signed) { LAZYARRAY_COUNTS_OF(long) } LAZYARRAY_COUNTS_OF(ulong)
        }
        return 0;
    }

    /* Counts the numbers; 0: too many may be different ones, -1: no memory. */
    static int lazyarray_count_all(const lazyarray_counting *how, const char *x, npy_intp n, npy_intp most, lazyarray_tally *tally) {
        npy_uint64 span = how->span(x, n, &tally->least);
        npy_intp tables, k;
        if (span >= (npy_uint64)most) return 0;
        tally->span = (npy_intp)span + 1;
        tables = tally->span <= LAZYARRAY_BESIDE_TABLES ? 4 : 1;
        if (!(tally->table = (npy_uint32 *)calloc(tables * tally->span, sizeof(npy_uint32)))) return -1;
        how->tally(x, n, tally, (int)tables);
        tally->count = 0;
        for (k = 0; k < tally->span; k++) {
            npy_uint32 *here = tally->table + k;
            if (tables > 1) *here += here[tally->span] + here[2 * tally->span] + here[3 * tally->span];
            tally->count += *here != 0;
        }
        return 1;
    }

    static PyObject *lazyarray_new_places(npy_intp count, int wanted) {
        return wanted ? PyArray_SimpleNew(1, &count, NPY_INTP) : Py_NewRef(Py_None);
    }
    static npy_intp *lazyarray_places_in(PyObject *made) {
        return made == Py_None ? NULL : (npy_intp *)PyArray_DATA((PyArrayObject *)made);
    }

    /* Three new references together. */
    static PyObject *lazyarray_packed(PyObject *values, PyObject *places, PyObject *often) {
        PyObject *made = values && places && often ? PyTuple_Pack(3, values, places, often) : NULL;
        Py_XDECREF(values);
        Py_XDECREF(places);
        Py_XDECREF(often);
        return made;
    }

    /* Room for what is found: the distinct numbers, their first places and counts, each of so many or not wanted. */
    static PyObject *lazyarray_new_found(PyArrayObject *a, npy_intp count, int first, int counts) {
        PyArray_Descr *dtype = PyArray_DESCR(a);
        Py_INCREF(dtype);
        return lazyarray_packed(
            PyArray_NewFromDescr(&PyArray_Type, dtype, 1, &count, NULL, NULL, 0, NULL),
            lazyarray_new_places(count, first), lazyarray_new_places(count, counts));
    }

    static PyObject *lazyarray_tallied(PyObject *given, npy_intp most, PyObject *inverse, int first, int counts) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp n;
        const char *x;
        lazyarray_counting how;
        lazyarray_tally tally;
        PyObject *made;
        int known;
        if (!PyArray_API && _import_array() < 0) return NULL;
        n = PyArray_SIZE(a);
        x = PyArray_BYTES(a);
        if (!PyArray_ISINTEGER(a) || !PyArray_ISCARRAY_RO(a) || !n || (npy_uint64)n > NPY_MAX_UINT32) Py_RETURN_NONE;
        if (!lazyarray_find_counting(a, &how)) Py_RETURN_NONE;
        known = lazyarray_count_all(&how, x, n, most, &tally);
        if (known < 0) return PyErr_NoMemory();
        if (!known) Py_RETURN_NONE;
        if ((made = lazyarray_new_found(a, tally.count, first, counts))) {
            npy_intp *places = lazyarray_places_in(PyTuple_GET_ITEM(made, 1));
            how.list(&tally, PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(made, 0)),
                     lazyarray_places_in(PyTuple_GET_ITEM(made, 2)));
            if (places) how.meet(x, n, &tally, places);
            if (inverse != Py_None) how.number(x, n, &tally, lazyarray_places_in(inverse));
        }
        free(tally.table);
        return made;
    }

    #define LAZYARRAY_WHOLE(NAME, TARGET, TYPE, BITS, NEGATIVE_ZERO) \\
        /* Numbers as integers; how many of them are none of 31 bits, or a zero with a sign, which is no integer. */ \\
        TARGET LAZYARRAY_COMPARES static npy_intp lazyarray_whole_##NAME(const char *given, npy_intp n, npy_int32 *into) { \\
            const TYPE *x = (const TYPE *)given; \\
            const BITS *b = (const BITS *)given; \\
            BITS others = 0; \\
            npy_intp j; \\
            for (j = 0; j < n; j++) into[j] = (npy_int32)(fabs(x[j]) <= LAZYARRAY_WIDEST ? x[j] : (TYPE)0.5); \\
            for (j = 0; j < n; j++) others += ((TYPE)into[j] != x[j]) | (b[j] == NEGATIVE_ZERO); \\
            return others; \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_WHOLE, double, npy_double, npy_int64, NPY_MIN_INT64)
    LAZYARRAY_BOTH(LAZYARRAY_WHOLE, float, npy_float, npy_int32, NPY_MIN_INT32)

    static PyObject *lazyarray_whole_of(PyObject *given) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp n, k, size, taken;
        int is_double;
        PyObject *made;
        if (!PyArray_API && _import_array() < 0) return NULL;
        n = PyArray_SIZE(a);
        size = PyArray_ITEMSIZE(a);
        is_double = PyArray_TYPE(a) == NPY_DOUBLE;
        if (!PyArray_ISCARRAY_RO(a) || !(is_double || PyArray_TYPE(a) == NPY_FLOAT)) Py_RETURN_NONE;
        if (!(made = PyArray_SimpleNew(1, &n, NPY_INT32))) return NULL;
        for (k = 0; k < n; k += taken) {
            npy_int32 *into = (npy_int32 *)PyArray_DATA((PyArrayObject *)made) + k;
            const char *x = PyArray_BYTES(a) + k * size;
            taken = k ? LAZYARRAY_WHOLE_PART : LAZYARRAY_WHOLE_FIRST;
            if (taken > n - k) taken = n - k;
            if (is_double ? LAZYARRAY_PICK(whole, double)(x, taken, into) : LAZYARRAY_PICK(whole, float)(x, taken, into)) {
                Py_DECREF(made);
                Py_RETURN_NONE;
            }
        }
        return made;
    }

    /* ---- numbers that rise: NaN come last */

    #define LAZYARRAY_CHANGED(NAME, TARGET, TYPE, BITS) \\
        /* How many differ from those before them, and of each so many neighbours; the first one is not counted. */ \\
        TARGET LAZYARRAY_COMPARES static npy_intp lazyarray_changes_##NAME(const char *given, npy_intp n, npy_uint8 *each) { \\
            const TYPE *x = (const TYPE *)given; \\
            npy_intp found = 0, first, j; \\
            for (first = 1; first < n; first += LAZYARRAY_CHANGES, each++) { \\
                npy_intp stop = first + LAZYARRAY_CHANGES < n ? first + LAZYARRAY_CHANGES : n; \\
                BITS changed = 0; \\
                for (j = first; j < stop; j++) changed += x[j] != x[j - 1]; \\
                *each = (npy_uint8)changed; \\
                found += *each; \\
            } \\
            return found; \\
        }
    /* `WHAT` of each run of equal ones, of which so many are known to be. What is written for one that is equal to the one
       before is written over, and nothing beyond the last one. */
    #define LAZYARRAY_OF_CHANGES(PART, NAME, TYPE, MADE, WHAT) \\
        static void lazyarray_##PART##_##NAME(const char *given, npy_intp n, const npy_uint8 *each, char *to, npy_intp count) { \\
            const TYPE *x = (const TYPE *)given; \\
            MADE *into = (MADE *)to; \\
            npy_intp found = 1, first, j = 0; \\
            if (count) into[0] = (MADE)WHAT; \\
            for (first = 1; found < count; first += LAZYARRAY_CHANGES, each++) { \\
                npy_intp stop = first + LAZYARRAY_CHANGES < n ? first + LAZYARRAY_CHANGES : n; \\
                if (!*each) continue; \\
                if (*each == stop - first) { \\
                    for (j = first; j < stop; j++) into[found + j - first] = (MADE)WHAT; \\
                    found += stop - first; \\
                    continue; \\
                } \\
                for (j = first; j < stop && found < count; j++) { \\
                    into[found] = (MADE)WHAT; \\
                    found += x[j] != x[j - 1]; \\
                } \\
            } \\
        }
    #define LAZYARRAY_RISING(NAME, TYPE, BITS) \\
        LAZYARRAY_BOTH(LAZYARRAY_CHANGED, NAME, TYPE, BITS) \\
        static void lazyarray_collect_##NAME(const char *from, const npy_intp *places, npy_intp n, char *into) { \\
            npy_intp j; \\
            for (j = 0; j < n; j++) ((TYPE *)into)[j] = ((const TYPE *)from)[places[j]]; \\
        } \\
        /* How many are numbers. */ \\
        static npy_intp lazyarray_before_nan_##NAME(const char *given, npy_intp n) { \\
            const TYPE *x = (const TYPE *)given; \\
            npy_intp low = 0, high = n; \\
            while (low < high) { \\
                npy_intp middle = low + (high - low) / 2; \\
                if (x[middle] != x[middle]) high = middle; \\
                else low = middle + 1; \\
            } \\
            return low; \\
        } \\
        /* The first of each run of equal ones. */ \\
        LAZYARRAY_OF_CHANGES(keep, NAME, TYPE, TYPE, x[j]) \\
        /* Where each run starts. */ \\
        LAZYARRAY_OF_CHANGES(starts, NAME, TYPE, npy_intp, j) \\
        /* Which of the distinct numbers each is, where it lies. */ \\
        static void lazyarray_enter_##NAME(const char *given, npy_intp n, const npy_intp *places, npy_intp *into) { \\
            const TYPE *x = (const TYPE *)given; \\
            npy_intp found = 0, j; \\
            if (n) into[places[0]] = 0; \\
            for (j = 1; j < n; j++) { \\
                found += x[j] != x[j - 1]; \\
                into[places[j]] = found; \\
            } \\
        }
    LAZYARRAY_RISING(double, npy_double, npy_int64)
    LAZYARRAY_RISING(float, npy_float, npy_int32)
    LAZYARRAY_RISING(long, npy_int64, npy_int64)
    LAZYARRAY_RISING(int, npy_int32, npy_int32)

    typedef struct {
        npy_intp (*changes)(const char *x, npy_intp n, npy_uint8 *each);
        npy_intp (*before_nan)(const char *x, npy_intp n);
        void (*collect)(const char *from, const npy_intp *places, npy_intp n, char *into);
        void (*keep)(const char *x, npy_intp n, const npy_uint8 *each, char *values, npy_intp count);
        void (*starts)(const char *x, npy_intp n, const npy_uint8 *each, char *places, npy_intp count);
        void (*enter)(const char *x, npy_intp n, const npy_intp *places, npy_intp *into);
        npy_intp size;
    } lazyarray_rising;

    #define LAZYARRAY_RISING_OF(NAME) \\
        how->changes = LAZYARRAY_PICK(changes, NAME); \\
        how->before_nan = lazyarray_before_nan_##NAME; \\
        how->collect = lazyarray_collect_##NAME; \\
        how->keep = lazyarray_keep_##NAME; \\
        how->starts = lazyarray_starts_##NAME; \\
        how->enter = lazyarray_enter_##NAME; \\
        return 1;
    static int lazyarray_find_rising(PyArrayObject *a, lazyarray_rising *how) {
        how->size = PyArray_ITEMSIZE(a);
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: LAZYARRAY_RISING_OF(double)
            case NPY_FLOAT: LAZYARRAY_RISING_OF(float)
        }
        /* Whether two are equal, their bits say. */
        if (PyArray_ISINTEGER(a) && how->size == 8) { LAZYARRAY_RISING_OF(long) }
        if (PyArray_ISINTEGER(a) && how->size == 4) { LAZYARRAY_RISING_OF(int) }
        return 0;
    }

    /* Sorted numbers `x`, and the `places` they had in `a`, NULL where that is sorted itself. */
    typedef struct {
        lazyarray_rising how;
        PyArrayObject *a;
        const char *x;
        const npy_intp *places;
        npy_intp n, numbers, different, count;  /* numbers, of them different ones, and with NaN all that are told */
        npy_uint8 *each;
    } lazyarray_ordered;

    static int lazyarray_count_ordered(lazyarray_ordered *known, int same_nans) {
        npy_intp nans;
        if (!(known->each = (npy_uint8 *)malloc(known->n / LAZYARRAY_CHANGES + 1))) return -1;
        known->numbers = known->how.before_nan(known->x, known->n);
        known->different = known->numbers ? known->how.changes(known->x, known->numbers, known->each) + 1 : 0;
        nans = known->n - known->numbers;
        known->count = known->different + (same_nans ? nans > 0 : nans);
        return 0;
    }

    /* Where none is equal to another: the sorted numbers, their places, ones. */
    static PyObject *lazyarray_all_of(const lazyarray_ordered *known, PyObject *places, int first, int counts) {
        PyObject *values, *often = lazyarray_new_places(known->n, counts);
        npy_intp *told, k;
        if (often && (told = lazyarray_places_in(often))) for (k = 0; k < known->n; k++) told[k] = 1;
        if (!known->places) values = Py_NewRef((PyObject *)known->a);
        else if ((values = PyArray_NewLikeArray(known->a, NPY_CORDER, NULL, 0)))
            memcpy(PyArray_DATA((PyArrayObject *)values), known->x, known->n * known->how.size);
        return lazyarray_packed(values, Py_NewRef(first ? places : Py_None), often);
    }

    static PyObject *lazyarray_some_of(const lazyarray_ordered *known, int first, int counts) {
        PyObject *made = lazyarray_new_found(known->a, known->count, first, counts);
        npy_intp *place, *often, *starts, k;
        char *values;
        if (!made) return NULL;
        values = PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(made, 0));
        place = lazyarray_places_in(PyTuple_GET_ITEM(made, 1));
        often = lazyarray_places_in(PyTuple_GET_ITEM(made, 2));
        known->how.keep(known->x, known->numbers, known->each, values, known->different);
        memcpy(values + known->different * known->how.size, known->x + known->numbers * known->how.size,
               (known->count - known->different) * known->how.size);
        if (!(starts = often ? often : place)) return made;
        known->how.starts(known->x, known->numbers, known->each, (char *)starts, known->different);
        for (k = known->different; k < known->count; k++) starts[k] = known->numbers + k - known->different;
        if (place) for (k = 0; k < known->count; k++) place[k] = known->places[starts[k]];
        if (often) for (k = 0; k < known->count; k++) often[k] = (k + 1 < known->count ? starts[k + 1] : known->n) - starts[k];
        return made;
    }

    /* Which of the distinct ones each is. */
    static void lazyarray_number_ordered(const lazyarray_ordered *known, npy_intp *into) {
        npy_intp k;
        if (known->count == known->n) {
            for (k = 0; k < known->n; k++) into[known->places[k]] = k;
            return;
        }
        known->how.enter(known->x, known->numbers, known->places, into);
        for (k = known->numbers; k < known->n; k++)
            into[known->places[k]] = known->different + (known->count > known->different + 1 ? k - known->numbers : 0);
    }

    static int lazyarray_are_read(PyObject *given) {
        lazyarray_rising how;
        if (!PyArray_API && _import_array() < 0) return -1;
        return PyArray_ISNOTSWAPPED((PyArrayObject *)given) && lazyarray_find_rising((PyArrayObject *)given, &how);
    }

    static int lazyarray_has_odd(PyObject *given) {
        PyArrayObject *a = (PyArrayObject *)given;
        if (!PyArray_ISCARRAY_RO(a)) return 1;
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: return LAZYARRAY_PICK(count_odd, double)(PyArray_BYTES(a), PyArray_SIZE(a)) > 0;
            case NPY_FLOAT: return LAZYARRAY_PICK(count_odd, float)(PyArray_BYTES(a), PyArray_SIZE(a)) > 0;
        }
        return 0;
    }

    static PyObject *lazyarray_distinct_of(
        PyObject *given, PyObject *places, int same_nans, PyObject *inverse, int first, int counts
    ) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_ordered known = {.a = a, .each = NULL};
        PyObject *made = NULL;
        char *spare = NULL;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (!PyArray_SIZE(a) || !PyArray_ISCARRAY_RO(a) || !lazyarray_find_rising(a, &known.how)) Py_RETURN_NONE;
        known.n = PyArray_SIZE(a);
        known.x = PyArray_BYTES(a);
        if ((known.places = lazyarray_places_in(places))) {
            if ((spare = (char *)malloc(known.n * known.how.size))) known.how.collect(known.x, known.places, known.n, spare);
            known.x = spare;
        }
        if (!known.x || lazyarray_count_ordered(&known, same_nans) < 0) PyErr_NoMemory();
        else made = known.count == known.n ? lazyarray_all_of(&known, places, first, counts) : lazyarray_some_of(&known, first, counts);
        if (made && inverse != Py_None) lazyarray_number_ordered(&known, lazyarray_places_in(inverse));
        free(spare);
        free(known.each);
        return made;
    }
    """
    object whole_of "lazyarray_whole_of" (object a)
    object tallied "lazyarray_tallied" (object a, Py_ssize_t most, object inverse, bint first, bint counts)
    bint are_read "lazyarray_are_read" (object a) except -1
    bint has_odd "lazyarray_has_odd" (object a)
    object distinct_of "lazyarray_distinct_of" (
        object rising, object places, bint same_nans, object inverse, bint first, bint counts
    )
