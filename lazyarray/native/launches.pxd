# C's side of `launches.py`.
cdef extern from *:
    """
    #include <stdint.h>

    typedef int64_t (*lazyarray_entry)(size_t, size_t, size_t, int64_t, int64_t, int64_t, int64_t);
    typedef void (*lazyarray_kernel)(size_t, int64_t, int64_t, int64_t);

    static void lazyarray_run_shared(
        PyObject *run, size_t entry, size_t pool, size_t function, size_t arguments, Py_ssize_t tasks, Py_ssize_t grain,
        Py_ssize_t shares, Py_ssize_t first
    ) {
        Py_BEGIN_ALLOW_THREADS
        ((lazyarray_entry)entry)(pool, function, arguments, tasks, grain, shares, first);
        Py_END_ALLOW_THREADS
    }

    static void lazyarray_tell(size_t address) { *(volatile int32_t *)address = 1; }

    static void lazyarray_run_alone(
        PyObject *call, size_t function, size_t arguments, Py_ssize_t first, Py_ssize_t past
    ) {
        Py_BEGIN_ALLOW_THREADS
        ((lazyarray_kernel)function)(arguments, first, past, 0);
        Py_END_ALLOW_THREADS
    }
    """
    void run_shared "lazyarray_run_shared" (
        object run, size_t entry, size_t pool, size_t function, size_t arguments, Py_ssize_t tasks, Py_ssize_t grain,
        Py_ssize_t shares, Py_ssize_t first)
    void tell "lazyarray_tell" (size_t address)
    void run_alone "lazyarray_run_alone" (
        object call, size_t function, size_t arguments, Py_ssize_t first, Py_ssize_t past)
