# How functions of C are compiled for vectors, and the one of two that runs on this CPU.
cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__)
    #define LAZYARRAY_AVX2 __attribute__((target("avx2")))
    #define LAZYARRAY_HAS_AVX2 __builtin_cpu_supports("avx2")
    #else
    #define LAZYARRAY_AVX2
    #define LAZYARRAY_HAS_AVX2 0
    #endif
    /* Vectors; of comparisons, too, which may tell the processor's flags of NaN or not; of numbers without NaN. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define LAZYARRAY_VECTORS __attribute__((optimize("O3")))
    #define LAZYARRAY_COMPARES __attribute__((optimize("O3", "no-trapping-math")))
    #define LAZYARRAY_NUMBERS __attribute__((optimize("O3", "no-trapping-math", "finite-math-only", "no-signed-zeros")))
    #else
    #define LAZYARRAY_VECTORS
    #define LAZYARRAY_COMPARES
    #define LAZYARRAY_NUMBERS
    #endif
    /* Functions that compilers make vectors of, also for AVX2, and the one of the two that runs here. */
    #define LAZYARRAY_BOTH(MAKE, NAME, ...) MAKE(NAME, , __VA_ARGS__) MAKE(NAME##_avx2, LAZYARRAY_AVX2, __VA_ARGS__)

    #define LAZYARRAY_PICK(PART, NAME) (LAZYARRAY_HAS_AVX2 ? lazyarray_##PART##_##NAME##_avx2 : lazyarray_##PART##_##NAME)
    """
    bint has_avx2 "LAZYARRAY_HAS_AVX2"
