"""LLVM IR fragments around the thread pool: how workers park, where they run, and the entries from Python."""

from __future__ import annotations

__all__ = ["CONDITION_IR", "FUTEX_IR", "NO_SPREAD_IR", "PYTHON_IR", "PYTHON_RUN_IR", "SPREAD_IR"]

FUTEX_IR = """
declare i64 @syscall(i64, ...)
define internal void @park(ptr %pool, ptr %word, i32 %expected) nounwind {
  %r = call i64 (i64, ...) @syscall(
      i64 {call}, ptr %word, i32 {wait}, i32 %expected, ptr null, ptr null, i32 0)
  ret void
}
define internal void @wake(ptr %pool, ptr %word, i32 %count) nounwind {
  %r = call i64 (i64, ...) @syscall(
      i64 {call}, ptr %word, i32 {wake}, i32 %count, ptr null, ptr null, i32 0)
  ret void
}
define void @la_prepare(ptr %pool) nounwind {
  ret void
}
"""

# The word is read again under the mutex, and a waker takes the mutex after it has changed the word: no wake
# is lost.
CONDITION_IR = """
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
define internal void @park(ptr %pool, ptr %word, i32 %expected) nounwind {
  %mutex = getelementptr i8, ptr %pool, i64 {mutex}
  %condition = getelementptr i8, ptr %pool, i64 {condition}
  %r0 = call i32 @pthread_mutex_lock(ptr %mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %expected
  br i1 %same, label %sleep, label %leave
sleep:
  %r1 = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %leave
leave:
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}
define internal void @wake(ptr %pool, ptr %word, i32 %count) nounwind {
  %mutex = getelementptr i8, ptr %pool, i64 {mutex}
  %condition = getelementptr i8, ptr %pool, i64 {condition}
  %r0 = call i32 @pthread_mutex_lock(ptr %mutex)
  %r1 = call i32 @pthread_cond_broadcast(ptr %condition)
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}
define void @la_prepare(ptr %pool) nounwind {
  %mutex = getelementptr i8, ptr %pool, i64 {mutex}
  %condition = getelementptr i8, ptr %pool, i64 {condition}
  %r0 = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %r1 = call i32 @pthread_cond_init(ptr %condition, ptr null)
  ret void
}
"""

# When the machine was busy of late, Linux wakes a worker on the CPU of the caller that wakes it, other CPUs
# being idle or not (its search for an idle one is skipped above a utilisation), and both then share that CPU
# for milliseconds. So a worker that fell asleep where the caller now runs is kept off that CPU. Measured on
# two CPUs, one array of 1 MiB to another: 20.6 us on one thread, 21 us on two without this, 9.9 us with it.
SPREAD_IR = """
declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
define internal i32 @place() nounwind {
  %cpu = call i32 @sched_getcpu()
  ret i32 %cpu
}
define internal void @spread(ptr %pool) nounwind {
entry:
  %here = call i32 @sched_getcpu()
  %known = icmp ult i32 %here, 1024
  br i1 %known, label %begin, label %leave
begin:
  %countp = getelementptr i8, ptr %pool, i64 {count}
  %count = load i64, ptr %countp, align 8
  %records = getelementptr i8, ptr %pool, i64 {records}
  %allowed = getelementptr i8, ptr %pool, i64 {allowed}
  %mask = getelementptr i8, ptr %pool, i64 {mask}
  br label %loop
loop:
  %i = phi i64 [1, %begin], [%next, %checked]
  %more = icmp sle i64 %i, %count
  br i1 %more, label %check, label %leave
check:
  %offset = mul i64 %i, {record}
  %record = getelementptr i8, ptr %records, i64 %offset
  %placep = getelementptr i8, ptr %record, i64 24
  %place = load atomic i32, ptr %placep monotonic, align 4
  %same = icmp eq i32 %place, %here
  br i1 %same, label %move, label %checked
move:
  store atomic i32 -1, ptr %placep monotonic, align 4
  %all = load <16 x i64>, ptr %allowed, align 8
  store <16 x i64> %all, ptr %mask, align 8
  %here64 = zext i32 %here to i64
  %bytes = lshr i64 %here64, 3
  %bytep = getelementptr i8, ptr %mask, i64 %bytes
  %byte = load i8, ptr %bytep, align 1
  %here8 = trunc i32 %here to i8
  %bit = and i8 %here8, 7
  %set = shl i8 1, %bit
  %clear = xor i8 %set, -1
  %without = and i8 %byte, %clear
  store i8 %without, ptr %bytep, align 1
  %threadp = getelementptr i8, ptr %record, i64 32
  %thread = load i64, ptr %threadp, align 8
  %r = call i32 @pthread_setaffinity_np(i64 %thread, i64 128, ptr %mask)
  br label %checked
checked:
  %next = add i64 %i, 1
  br label %loop
leave:
  ret void
}
"""

NO_SPREAD_IR = """
define internal i32 @place() nounwind {
  ret i32 -1
}
define internal void @spread(ptr %pool) nounwind {
  ret void
}
"""

# Entries of CPython's METH_FASTCALL convention: a launch through them costs a fifth of one through ctypes.
PYTHON_IR = """
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
@_Py_NoneStruct = external global i8

define internal i1 @numbers(ptr %args, i64 %count, i64 %wanted, ptr %into) {
entry:
  %right = icmp eq i64 %count, %wanted
  br i1 %right, label %loop, label %wrong
wrong:
  %r = call i32 @PyErr_BadArgument()
  ret i1 false
loop:
  %i = phi i64 [0, %entry], [%next, %good]
  %argp = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %argp
  %value = call i64 @PyLong_AsLongLong(ptr %arg)
  %doubt = icmp eq i64 %value, -1
  br i1 %doubt, label %check, label %good
check:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %good, label %failed
failed:
  ret i1 false
good:
  %place = getelementptr i64, ptr %into, i64 %i
  store i64 %value, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %wanted
  br i1 %more, label %loop, label %done
done:
  ret i1 true
}

define ptr @la_python_call(ptr %self, ptr %args, i64 %count) {
  %v = alloca [4 x i64]
  %good = call i1 @numbers(ptr %args, i64 %count, i64 4, ptr %v)
  br i1 %good, label %go, label %failed
failed:
  ret ptr null
go:
  %fn = load ptr, ptr %v
  %p1 = getelementptr i64, ptr %v, i64 1
  %arg = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %v, i64 2
  %begin = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %v, i64 3
  %end = load i64, ptr %p3
  %thread = call ptr @PyEval_SaveThread()
  call void %fn(ptr %arg, i64 %begin, i64 %end, i64 0)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}
"""

PYTHON_RUN_IR = """
define ptr @la_python_run(ptr %self, ptr %args, i64 %count) {
  %v = alloca [7 x i64]
  %good = call i1 @numbers(ptr %args, i64 %count, i64 7, ptr %v)
  br i1 %good, label %go, label %failed
failed:
  ret ptr null
go:
  %pool = load ptr, ptr %v
  %p1 = getelementptr i64, ptr %v, i64 1
  %fn = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %v, i64 2
  %arg = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %v, i64 3
  %n = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %v, i64 4
  %grain = load i64, ptr %p4
  %p5 = getelementptr i64, ptr %v, i64 5
  %most = load i64, ptr %p5
  %p6 = getelementptr i64, ptr %v, i64 6
  %base = load i64, ptr %p6
  %thread = call ptr @PyEval_SaveThread()
  %r = call i64 @la_run(ptr %pool, ptr %fn, ptr %arg, i64 %n, i64 %grain, i64 %most, i64 %base)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}
"""
