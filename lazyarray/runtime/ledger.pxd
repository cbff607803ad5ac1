# C's side of `ledger.py`.

cdef class Ledger:
    cdef public dict _fallbacks
    cdef public list _open, refusing
    cdef public double busy_seconds, compile_seconds
    cdef public long long evaluations, interpreted, in_bands, launches, compiles, disk_hits, library_calls, fallbacks, materialisations
    cdef public long long allocations, bytes_allocated, bytes_read, bytes_written, transfers, bytes_transferred

    cpdef kernel(
        self, name, ops, bytes_read, bytes_written, site=*, double seconds=*, double start=*, elements=*,
        long together=*
    )
    cpdef bint is_attended(self) except -1
    cpdef plan(self, made, sources=*)
    cpdef evaluation(self, reason)
    cpdef allocation(self, nbytes)
    cpdef replayed(
        self, long long launches, long long calls, long long bytes_read, long long bytes_written,
        long long allocations=*, long long bytes_allocated=*
    )
