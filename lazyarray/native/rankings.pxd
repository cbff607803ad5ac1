# C's side of `rankings.py`.
from lazyarray.native.sorts cimport lanes_of
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #define LAZYARRAY_SAMPLED (1 << 11)  /* numbers, of which some are looked at before all are sorted, */
    #define LAZYARRAY_SAMPLE 256  /* at least so many, */
    #define LAZYARRAY_SAMPLED_EACH 32  /* or one of so many, */
    #define LAZYARRAY_GAP 8  /* between so many of which the others are taken to be anywhere */
    #define LAZYARRAY_SURE 3  /* equal ones, of which a sample would have one at least */
    #define LAZYARRAY_KEPT 512  /* keys that are looked at together */
    #define LAZYARRAY_RANKED_FEW 512  /* keys that have room on the stack */
    #define LAZYARRAY_FEW_EQUAL 24  /* what is as quickly sorted by insertion */
    #define LAZYARRAY_RANKED 16384  /* places that a thread takes at once */

    #if defined(__GNUC__)
    static int lazyarray_length_of(npy_uint64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
    #else
    static int lazyarray_length_of(npy_uint64 x) { int n = 0; while (x) { x >>= 1; n++; } return n; }
    #endif

    /* Integers in the order of numbers: zeros have one, and NaN the greatest. Of integers, themselves or less half of all. */
    #define LAZYARRAY_NEGATED(x, sign) (((x) ^ -(sign)) + (sign))
    #define LAZYARRAY_KEY_OF(bits, MOST, INFINITE) ( \\
        ((bits) & MOST) > INFINITE ? MOST : LAZYARRAY_NEGATED((bits) & MOST, (bits) < 0))
    #define LAZYARRAY_KEY_DOUBLE(bits) LAZYARRAY_KEY_OF(bits, NPY_MAX_INT64, (npy_int64)2047 << 52)
    #define LAZYARRAY_KEY_FLOAT(bits) LAZYARRAY_KEY_OF(bits, NPY_MAX_INT32, (npy_int32)255 << 23)
    #define LAZYARRAY_KEY_SIGNED(bits) (bits)
    #define LAZYARRAY_KEY_ULONG(bits) ((bits) ^ NPY_MIN_INT64)
    #define LAZYARRAY_KEY_UINT(bits) ((bits) ^ NPY_MIN_INT32)

    /* What is known of a line: its least key and the range, how often the next is less, and how often it is not greater. */
    typedef struct {
        npy_uint64 least, range;
        npy_intp falls, stays;
    } lazyarray_extent;

    #define LAZYARRAY_KEYS(NAME, TARGET, BITS, KEY) \\
        TARGET LAZYARRAY_VECTORS static void lazyarray_extent_##NAME(const char *given, npy_intp n, lazyarray_extent *known) { \\
            const BITS *b = (const BITS *)given; \\
            BITS keys[LAZYARRAY_KEPT + 1] = {KEY(b[0])}, least = keys[0], most = least; \\
            npy_intp taken, j; \\
            known->falls = known->stays = 0; \\
            /* Compilers make vectors of two loops, and not of one that does both. */ \\
            for (n--, b++; n > 0; n -= taken, b += taken) { \\
                BITS falls = 0, stays = 0; \\
                taken = n < LAZYARRAY_KEPT ? n : LAZYARRAY_KEPT; \\
                for (j = 0; j < taken; j++) keys[j + 1] = KEY(b[j]); \\
                for (j = 1; j <= taken; j++) { \\
                    const BITS before = keys[j - 1], key = keys[j]; \\
                    least = key < least ? key : least; \\
                    most = key > most ? key : most; \\
                    falls += key < before; \\
                    stays += key <= before; \\
                } \\
                keys[0] = keys[taken]; \\
                known->falls += falls; \\
                known->stays += stays; \\
            } \\
            known->least = (npy_uint64)(npy_int64)least; \\
            known->range = (npy_uint64)(npy_int64)most - known->least; \\
        } \\
        TARGET LAZYARRAY_VECTORS static void lazyarray_pack_##NAME( \\
            const char *given, npy_intp first, npy_intp stop, npy_uint64 least, int dropped, int bits, npy_uint64 *packed \\
        ) { \\
            const BITS *b = (const BITS *)given; \\
            npy_intp j; \\
            for (j = first; j < stop; j++) \\
                packed[j] = ((npy_uint64)(npy_int64)KEY(b[j]) - least) >> dropped << bits | (npy_uint64)j; \\
        }
    #define LAZYARRAY_KEY_AT(NAME, BITS, KEY) \\
        LAZYARRAY_BOTH(LAZYARRAY_KEYS, NAME, BITS, KEY) \\
        static npy_int64 lazyarray_key_at_##NAME(const char *given, npy_intp place) { \\
            const BITS bits = ((const BITS *)given)[place]; \\
            return KEY(bits); \\
        }
    LAZYARRAY_KEY_AT(double, npy_int64, LAZYARRAY_KEY_DOUBLE)
    LAZYARRAY_KEY_AT(float, npy_int32, LAZYARRAY_KEY_FLOAT)
    LAZYARRAY_KEY_AT(long, npy_int64, LAZYARRAY_KEY_SIGNED)
    LAZYARRAY_KEY_AT(ulong, npy_int64, LAZYARRAY_KEY_ULONG)
    LAZYARRAY_KEY_AT(int, npy_int32, LAZYARRAY_KEY_SIGNED)
    LAZYARRAY_KEY_AT(uint, npy_int32, LAZYARRAY_KEY_UINT)

    /* How lines are ranked: keys, less their least one and but for the lowest bits where they are too wide, are sorted with
       the places of their numbers below them. Of two with the same upper bits the keys tell. */
    typedef struct {
        void (*extent)(const char *x, npy_intp n, lazyarray_extent *known);
        void (*pack)(const char *x, npy_intp first, npy_intp stop, npy_uint64 least, int dropped, int bits, npy_uint64 *packed);
        npy_int64 (*key_at)(const char *x, npy_intp place);
        lazyarray_sorting sorting;  /* of what is packed */
        PyArray_ArgSortFunc *numpys;
        int stable;  /* equal numbers in the order of their places: else NumPy is to rank them */
    } lazyarray_ranking;

    typedef struct {
        npy_uint64 least;
        int dropped, bits;
    } lazyarray_packing;

    #define LAZYARRAY_RANKS(NAME) \\
        how->extent = LAZYARRAY_PICK(extent, NAME); \\
        how->pack = LAZYARRAY_PICK(pack, NAME); \\
        how->key_at = lazyarray_key_at_##NAME;
    static int lazyarray_find_ranking(PyArrayObject *a, int stable, lazyarray_ranking *how) {
        PyArray_Descr *packed = PyArray_DescrFromType(NPY_UINT64);
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: LAZYARRAY_RANKS(double) break;
            case NPY_FLOAT: LAZYARRAY_RANKS(float) break;
            case NPY_INT64: LAZYARRAY_RANKS(long) break;
            case NPY_UINT64: LAZYARRAY_RANKS(ulong) break;
            case NPY_INT32: LAZYARRAY_RANKS(int) break;
            case NPY_UINT32: LAZYARRAY_RANKS(uint) break;
            default: how->pack = NULL; break;
        }
        how->sorting.sort = PyDataType_GetArrFuncs(packed)->sort[NPY_QUICKSORT];
        how->sorting.merge = lazyarray_in_pieces() ? lazyarray_merge_ulong : NULL;
        how->sorting.count_odd = NULL;
        how->sorting.size = sizeof(npy_uint64);
        how->numpys = PyDataType_GetArrFuncs(PyArray_DESCR(a))->argsort[stable ? NPY_STABLESORT : NPY_QUICKSORT];
        how->stable = stable;
        Py_DECREF(packed);
        return how->pack && how->sorting.sort;
    }

    /* Whether equal numbers are likely: a sample has some, or lies so close that all would, and the sample hardly. */
    static int lazyarray_may_have_equals(const lazyarray_ranking *how, const char *x, npy_intp n) {
        npy_intp size = n / LAZYARRAY_SAMPLED_EACH, step, k;
        double expected = 0;
        npy_uint64 *sample;
        int found;
        if (size < LAZYARRAY_SAMPLE) size = LAZYARRAY_SAMPLE;
        size -= size % LAZYARRAY_GAP;
        step = n / size;
        if (!(sample = (npy_uint64 *)malloc(size * sizeof(npy_uint64)))) return 1;
        /* Neighbours, too: equal ones are next to one another where numbers almost rise. */
        for (k = 0; k < size; k++)
            sample[k] = (npy_uint64)how->key_at(x, k / LAZYARRAY_GAP * LAZYARRAY_GAP * step + k % LAZYARRAY_GAP) ^ (npy_uint64)1 << 63;
        found = lazyarray_sort_line(&how->sorting, (char *)sample, size) < 0;
        for (k = 1; k < size && !found; k++) found = sample[k] == sample[k - 1];
        /* Of the sample's numbers, were they drawn one by one. */
        for (k = 0; k < size - LAZYARRAY_GAP && !found; k += LAZYARRAY_GAP)
            expected += LAZYARRAY_GAP * LAZYARRAY_GAP / 2. / (double)(sample[k + LAZYARRAY_GAP] - sample[k]);
        free(sample);
        return found || (expected < LAZYARRAY_SURE && expected * step * step >= 0.5);
    }

    /* 1: how to pack; 0: for NumPy to rank; 2: the numbers rise, 3: they fall. */
    static int lazyarray_plan_ranking(const lazyarray_ranking *how, const char *x, npy_intp n, lazyarray_packing *packing) {
        lazyarray_extent known;
        how->extent(x, n, &known);
        if (!known.falls) return how->stable || !known.stays ? 2 : 0;
        if (known.falls == n - 1) return 3;
        /* More numbers than keys. */
        if (!how->stable && (known.range < (npy_uint64)n - 1 || (n >= LAZYARRAY_SAMPLED && lazyarray_may_have_equals(how, x, n)))) return 0;
        packing->least = known.least;
        packing->bits = lazyarray_length_of((npy_uint64)n - 1);
        packing->dropped = lazyarray_length_of(known.range) + packing->bits - 64;
        if (packing->dropped < 0) packing->dropped = 0;
        return 1;
    }

    /* Ranks places whose numbers have the same upper bits, and which rise. 0: for NumPy to rank. */
    static int lazyarray_rank_equals(
        const lazyarray_ranking *how, const char *x, const lazyarray_packing *packing, npy_intp *places, npy_intp n
    ) {
        int bits = lazyarray_length_of((npy_uint64)n - 1), done = 1;
        npy_int64 *keys, least = NPY_MAX_INT64, most = NPY_MIN_INT64;
        npy_uint64 *packed;
        npy_intp *old, j, k;
        if (n <= LAZYARRAY_FEW_EQUAL) {
            for (j = 1; j < n; j++) {
                npy_intp place = places[j];
                npy_int64 key = how->key_at(x, place), before = 0;
                for (k = j; k > 0 && (before = how->key_at(x, places[k - 1])) > key; k--) places[k] = places[k - 1];
                if (k > 0 && before == key && !how->stable) return 0;
                places[k] = place;
            }
            return 1;
        }
        if (packing->dropped + bits > 64 || !(keys = (npy_int64 *)malloc(2 * n * sizeof(npy_int64)))) return 0;
        old = (npy_intp *)(keys + n);
        for (j = 0; j < n; j++) {
            old[j] = places[j];
            keys[j] = how->key_at(x, places[j]);
            if (keys[j] < least) least = keys[j];
            if (keys[j] > most) most = keys[j];
        }
        if (least == most) {
            free(keys);
            return how->stable;
        }
        packed = (npy_uint64 *)keys;
        for (j = 0; j < n; j++) packed[j] = ((npy_uint64)keys[j] - (npy_uint64)least) << bits | (npy_uint64)j;
        if (lazyarray_sort_line(&how->sorting, (char *)packed, n) < 0) done = 0;
        for (j = 0; j < n && done; j++) {
            if (!how->stable && j && packed[j] >> bits == packed[j - 1] >> bits) done = 0;
            places[j] = old[packed[j] & (((npy_uint64)1 << bits) - 1)];
        }
        free(keys);
        return done;
    }

    #define LAZYARRAY_UNPACK(NAME, TARGET, TYPE) \\
        /* The places that were packed; how many have the upper bits of the next one. */ \\
        TARGET LAZYARRAY_VECTORS static npy_intp lazyarray_unpack_##NAME( \\
            const TYPE *packed, npy_intp n, int bits, npy_intp *places \\
        ) { \\
            const TYPE mask = ((TYPE)1 << bits) - 1; \\
            npy_intp j, equal = 0; \\
            for (j = 0; j < n; j++) places[j] = (npy_intp)(packed[j] & mask); \\
            for (j = 0; j < n - 1; j++) equal += (packed[j] ^ packed[j + 1]) <= mask; \\
            return equal; \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_UNPACK, places, npy_uint64)

    /* The places of sorted keys. 0: for NumPy to rank. */
    static int lazyarray_unpack(
        const lazyarray_ranking *how, const char *x, const lazyarray_packing *packing, const npy_uint64 *packed, npy_intp n,
        npy_intp *places
    ) {
        npy_intp equal = LAZYARRAY_PICK(unpack, places)(packed, n, packing->bits, places), j, k;
        if (!equal || (!packing->dropped && how->stable)) return 1;
        if (!packing->dropped) return 0;
        for (j = 0; equal > 0; j = k) {
            for (k = j + 1; k < n && (packed[j] ^ packed[k]) >> packing->bits == 0; k++) equal--;
            if (k > j + 1 && !lazyarray_rank_equals(how, x, packing, places + j, k - j)) return 0;
        }
        return 1;
    }

    static void lazyarray_count_places(npy_intp first, npy_intp stop, int falls, npy_intp n, npy_intp *places) {
        npy_intp k;
        for (k = first; k < stop; k++) places[k] = falls ? n - 1 - k : k;
    }

    /* The ranks of lines. */
    typedef struct {
        lazyarray_lanes lanes;
        lazyarray_ranking ranking;
        npy_int64 tried, refused;  /* lines: most others have equals, too, where most had */
    } lazyarray_ranked_lanes;

    static int lazyarray_rank_as_numpy(const lazyarray_lanes *lanes, char *line, char *result) {
        npy_intp *places = (npy_intp *)result, n = lanes->length;
        lazyarray_count_places(0, n, 0, n, places);
        return ((const lazyarray_ranked_lanes *)lanes)->ranking.numpys(line, places, n, NULL) < 0;
    }

    static int lazyarray_rank_lane(const lazyarray_lanes *lanes, char *line, char *result) {
        lazyarray_ranked_lanes *ranked = (lazyarray_ranked_lanes *)lanes;
        const lazyarray_ranking *how = &ranked->ranking;
        npy_intp *places = (npy_intp *)result, n = lanes->length;
        npy_uint64 few[LAZYARRAY_RANKED_FEW], *packed = few;
        lazyarray_packing packing;
        int plan, done;
        if (2 * ranked->refused > ranked->tried + LAZYARRAY_SURE) return lazyarray_rank_as_numpy(lanes, line, result);
        plan = lazyarray_plan_ranking(how, line, n, &packing);
        if (plan > 1) {
            lazyarray_count_places(0, n, plan == 3, n, places);
            return 0;
        }
        if (plan == 1) {
            if (n > LAZYARRAY_RANKED_FEW && !(packed = (npy_uint64 *)malloc(n * sizeof(npy_uint64)))) return 1;
            how->pack(line, 0, n, packing.least, packing.dropped, packing.bits, packed);
            done = lazyarray_sort_line(&how->sorting, (char *)packed, n) == 0
                && lazyarray_unpack(how, line, &packing, packed, n, places);
            if (packed != few) free(packed);
            LAZYARRAY_MORE(&ranked->tried, 1);
            if (done) return 0;
            LAZYARRAY_MORE(&ranked->refused, 1);
        }
        return lazyarray_rank_as_numpy(lanes, line, result);
    }

    static PyObject *lazyarray_ranked_lanes_of(PyObject *given, PyObject *result, PyObject *shape, int stable) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_ranked_lanes *ranked;
        PyObject *made;
        int known;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (!PyArray_ISNUMBER(a) || !PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY((PyArrayObject *)result)) Py_RETURN_NONE;
        if (!(made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_ranked_lanes)))) return NULL;
        ranked = (lazyarray_ranked_lanes *)PyBytes_AS_STRING(made);
        known = lazyarray_find_ranking(a, stable, &ranked->ranking);
        if (!ranked->ranking.numpys) {
            Py_DECREF(made);
            Py_RETURN_NONE;
        }
        ranked->lanes.make = known ? lazyarray_rank_lane : lazyarray_rank_as_numpy;
        ranked->lanes.in_place = 0;
        ranked->tried = ranked->refused = 0;
        lazyarray_fill_lanes(&ranked->lanes, a, (PyArrayObject *)result, shape);
        return made;
    }

    /* The ranks of one line, in parts that are merged. */
    typedef struct {
        lazyarray_chunks chunks;
        lazyarray_ranking ranking;
        lazyarray_packing packing;
        const char *numbers;
        int plan;
    } lazyarray_ranked;

    static void lazyarray_pack_chunk(const lazyarray_chunks *chunks, npy_intp begin, npy_intp end) {
        const lazyarray_ranked *ranked = (const lazyarray_ranked *)chunks;
        const lazyarray_packing *packing = &ranked->packing;
        ranked->ranking.pack(chunks->from, begin, end, packing->least, packing->dropped, packing->bits, (npy_uint64 *)chunks->into);
    }

    static PyObject *lazyarray_ranked_of(PyObject *given, PyObject *spare, int count, int stable) {
        PyArrayObject *a = (PyArrayObject *)given;
        lazyarray_ranked *ranked;
        PyObject *made;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (count > LAZYARRAY_MOST_CHUNKS || !PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY((PyArrayObject *)spare)) Py_RETURN_NONE;
        if (!(made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_ranked)))) return NULL;
        ranked = (lazyarray_ranked *)PyBytes_AS_STRING(made);
        ranked->plan = 0;
        if (lazyarray_find_ranking(a, stable, &ranked->ranking))
            ranked->plan = lazyarray_plan_ranking(&ranked->ranking, PyArray_BYTES(a), PyArray_SIZE(a), &ranked->packing);
        if (!ranked->plan) {
            Py_DECREF(made);
            Py_RETURN_NONE;
        }
        ranked->chunks.sorting = ranked->ranking.sorting;
        ranked->chunks.merge = lazyarray_merge_ulong;
        ranked->chunks.settle = NULL;
        ranked->chunks.mixes_zeros = NULL;
        ranked->chunks.fill = lazyarray_pack_chunk;
        lazyarray_fill_chunks(&ranked->chunks, a, (PyArrayObject *)spare, count);
        return made;
    }

    static int lazyarray_is_counted(PyObject *record) { return ((lazyarray_ranked *)PyBytes_AS_STRING(record))->plan > 1; }

    /* Where the upper bits change, from there on. */
    static npy_intp lazyarray_next_change(const npy_uint64 *packed, npy_intp from, npy_intp n, int bits) {
        npy_intp low = from, high = n;
        while (from > 0 && low < high) {
            npy_intp middle = low + (high - low) / 2;
            if ((packed[from - 1] ^ packed[middle]) >> bits == 0) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /* What reads sorted keys, or nothing, and writes places. */
    static void lazyarray_run_places(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_ranked *ranked = (lazyarray_ranked *)record;
        const npy_uint64 *packed = (const npy_uint64 *)ranked->chunks.from;
        npy_intp *places = (npy_intp *)ranked->chunks.into, n = ranked->chunks.length, k;
        npy_intp bounds[2] = {begin * LAZYARRAY_RANKED, end * LAZYARRAY_RANKED};
        int bits = ranked->packing.bits;
        for (k = 0; k < 2; k++)
            if (bounds[k] > n) bounds[k] = n;
        if (ranked->plan > 1) {
            lazyarray_count_places(bounds[0], bounds[1], ranked->plan == 3, n, places);
            return;
        }
        for (k = 0; k < 2; k++) bounds[k] = lazyarray_next_change(packed, bounds[k], n, bits);
        if (!lazyarray_unpack(&ranked->ranking, ranked->numbers, &ranked->packing, packed + bounds[0], bounds[1] - bounds[0],
                              places + bounds[0]))
            LAZYARRAY_ALSO(&ranked->chunks.failed, 1);
    }

    static PyObject *lazyarray_places_of(PyObject *record, PyObject *sorted, PyObject *result) {
        PyObject *made = PyBytes_FromStringAndSize(PyBytes_AS_STRING(record), sizeof(lazyarray_ranked));
        lazyarray_ranked *ranked;
        if (!made) return NULL;
        ranked = (lazyarray_ranked *)PyBytes_AS_STRING(made);
        ranked->numbers = ranked->chunks.from;
        ranked->chunks.from = PyArray_BYTES((PyArrayObject *)sorted);
        ranked->chunks.into = PyArray_BYTES((PyArrayObject *)result);
        ranked->chunks.shared.run = lazyarray_run_places;
        ranked->chunks.shared.count = (ranked->chunks.length + LAZYARRAY_RANKED - 1) / LAZYARRAY_RANKED;
        return made;
    }

    static int lazyarray_are_ranked(PyObject *record) { return !((lazyarray_ranked *)PyBytes_AS_STRING(record))->chunks.failed; }
    """
    object ranked_lanes_of "lazyarray_ranked_lanes_of" (object a, object out, tuple lanes, bint stable)
    object ranked_of "lazyarray_ranked_of" (object a, object spare, int chunks, bint stable)
    bint is_counted "lazyarray_is_counted" (object record)
    object places_of "lazyarray_places_of" (object record, object keys, object out)
    bint are_ranked "lazyarray_are_ranked" (object record)
