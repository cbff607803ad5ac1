"""The LLVM IR of the thread pool: its memory's layout, the worker loop, the launch."""

from __future__ import annotations

import sys

from lazyarray_llvm.pool_fragments import (
    CONDITION_IR,
    FUTEX_IR,
    NO_SPREAD_IR,
    PYTHON_IR,
    PYTHON_RUN_IR,
    SPREAD_IR,
)

__all__ = [
    "ALLOWED_OFFSET",
    "ALONE_OFFSET",
    "AT_ONCE",
    "COUNT_OFFSET",
    "FUTEX_CALLS",
    "PYTHON_SYMBOLS",
    "RECORDS_OFFSET",
    "RECORD_BYTES",
    "REST_OFFSET",
    "SLEEPERS_OFFSET",
    "SPIN_OFFSET",
    "SYSTEM_SYMBOLS",
    "TURNING",
    "pool_ir",
]

# Offsets into a pool's memory; words that different threads write lie on different cache lines (128 bytes:
# adjacent lines are fetched in pairs on x86, and Apple's lines are that long).
_EPOCH, _DONE, _JOB, _LOCK, _SLEEPERS, _STATE = (128 * place for place in range(6))
_WAITING, _STOP, SPIN_OFFSET = _LOCK + 8, _SLEEPERS + 8, _JOB + 32
# Set to 1 by who wants the cores now: idle workers park at once, until the next launch.
REST_OFFSET, SLEEPERS_OFFSET = _EPOCH + 8, _SLEEPERS
_MUTEX, _CONDITION = 128 * 6, 128 * 7  # the largest known: 64 bytes (macOS), 48 bytes
# The CPUs that workers may use (1024 bits), the same without one, how many workers there are.
ALLOWED_OFFSET, _MASK, COUNT_OFFSET = 128 * 8, 128 * 9, _JOB + 64
TURNING, AT_ONCE = 1 << 32, 1 << 33  # bits beside the number of workers, which has 16
# What the caller has done alone while workers slept, in launches that followed each other: how long it took, when the
# last one ended, for how many nanoseconds who is woken now is to stay awake.
ALONE_OFFSET, _ENDED, _PATIENCE = _JOB + 96, _JOB + 104, _JOB + 112
# One record per worker: its section's counter, its number, its pool's address, the CPU that it went to sleep
# on (else -1), its pthread_t.
RECORDS_OFFSET, RECORD_BYTES = 128 * 10, 128

FUTEX_CALLS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "powerpc64le": 221, "s390x": 238}
_FUTEX_WAIT_PRIVATE, _FUTEX_WAKE_PRIVATE = 128, 129
_MONOTONIC = 6 if sys.platform == "darwin" else 1
# A worker that waits spins for 25 us. It goes on, and lets others have its core who want it, for 16 times as long as
# it has worked since it slept, at most a millisecond; after a sleep of at most so many nanoseconds as long again.
_LONGER, _MOST, _NAP = 16, 1_000_000, 200_000
# What the caller has done alone fades by so much of each pause.
_FADING = 8
# Work that is worth waking workers for, in nanoseconds on one thread.  On a virtual machine of two CPUs a launch that
# took 33 us on one thread took 55 when it woke the other, which began 80 us later; one of 152 us took 116.
_WORTH = 80_000


SYSTEM_SYMBOLS = [
    "syscall",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_cond_broadcast",
    "clock_gettime",
    "sched_yield",
    "sched_getcpu",
    "pthread_setaffinity_np",
]
PYTHON_SYMBOLS = [
    "PyLong_AsLongLong",
    "PyErr_Occurred",
    "PyErr_BadArgument",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
    "_Py_NoneStruct",
]

# State word: generation in bits 33 and up (so that a late join of an old launch fails), bit 32 open, bits
# 16-31 how many workers may join, bits 0-15 how many have.
#
# A launch is cut into one section of chunks per worker. A worker takes the chunks of its own section first so
# that launches over the same arrays find each section in the cache of the core that had it, and then those
# left in the others'.
#
# Launches that ask for it (`TURNING`, beside the number of workers) take each section from its end every other time:
# what the last one left in a core's cache is at the end, and a second pass from the beginning would push it out first.
#
# Two races are settled by sequentially consistent order: a worker counts itself asleep before it parks on the
# epoch, and a launch changes the epoch before it looks for sleepers; a worker counts itself done before it
# looks whether the caller waits, and the caller says that it waits before it reads the count.
#
# How long an idle worker stays awake before it parks: waking a parked one costs the caller 10 to 20 us, and it comes
# after 20 to 80. So it waits for as many times as long as it has worked, within bounds, and at least for as long as a
# short sleep took: launches in a loop find it awake, and what it wastes is bounded by what it does. It spins for a
# moment, and then yields its core between looks. A library call with threads of its own needs the cores: before one,
# `Pool.rest` has workers park at once.
#
# A launch that finds too few workers awake wakes others once the work is worth it: what the caller has done alone in
# launches just before, less a share of the pauses, and what its chunks so far say that the rest of this one takes. A
# short launch after a pause is done by the caller, a series of them wakes workers as one long launch does. `AT_ONCE`
# says that a launch is long.
_POOL_IR = """
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
define internal i64 @clock() nounwind {
  %time = alloca [2 x i64], align 8
  %r = call i32 @clock_gettime(i32 {monotonic}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %nanosp = getelementptr i8, ptr %time, i64 8
  %nanos = load i64, ptr %nanosp, align 8
  %whole = mul i64 %seconds, 1000000000
  %found = add i64 %whole, %nanos
  ret i64 %found
}

define internal void @rouse(ptr %pool, i64 %patience) nounwind {
entry:
  %alonep = getelementptr i8, ptr %pool, i64 {alone}
  store i64 0, ptr %alonep, align 8
  %patiencep = getelementptr i8, ptr %pool, i64 {patience}
  store atomic i64 %patience, ptr %patiencep monotonic, align 8
  call void @spread(ptr %pool)
  %partsp = getelementptr i8, ptr %pool, i64 {parts}
  %parts = load i64, ptr %partsp, align 8
  %parts32 = trunc i64 %parts to i32
  %most = sub i32 %parts32, 1
  %epochp = getelementptr i8, ptr %pool, i64 {epoch}
  call void @wake(ptr %pool, ptr %epochp, i32 %most)
  ret void
}

; `began`: when a launch began that has found workers asleep, and asks whether to wake them; else 0. Who asks takes the
; first chunk of the last worker's section before its own ones: what earlier launches left in that core's cache is
; slower to reach, and would be found out about too late.
define internal void @work(ptr %pool, i64 %worker, i64 %began) nounwind {
entry:
  %job = getelementptr i8, ptr %pool, i64 {job}
  %fn = load ptr, ptr %job, align 8
  %argp = getelementptr i8, ptr %job, i64 8
  %arg = load ptr, ptr %argp, align 8
  %np = getelementptr i8, ptr %job, i64 16
  %n = load i64, ptr %np, align 8
  %grainp = getelementptr i8, ptr %job, i64 24
  %grain = load i64, ptr %grainp, align 8
  %perp = getelementptr i8, ptr %job, i64 40
  %per = load i64, ptr %perp, align 8
  %chunksp = getelementptr i8, ptr %job, i64 48
  %chunks = load i64, ptr %chunksp, align 8
  %partsp = getelementptr i8, ptr %job, i64 56
  %parts = load i64, ptr %partsp, align 8
  %basep = getelementptr i8, ptr %job, i64 72
  %base = load i64, ptr %basep, align 8
  %turnedp = getelementptr i8, ptr %job, i64 80
  %turned.word = load i64, ptr %turnedp, align 8
  %turned = icmp ne i64 %turned.word, 0
  %own = urem i64 %worker, %parts
  %probes = icmp ne i64 %began, 0
  %furthest = sub i64 %parts, 1
  %start = select i1 %probes, i64 %furthest, i64 %own
  %visits = select i1 %probes, i64 -1, i64 0
  br label %section
section:
  %asking = phi i64 [%began, %entry], [%asks.left, %empty]
  %sofar = phi i64 [0, %entry], [%done.left, %empty]
  %tried = phi i64 [%visits, %entry], [%tried.next, %empty]
  %part = phi i64 [%start, %entry], [%part.next, %empty]
  %first = mul i64 %part, %per
  %past = add i64 %first, %per
  %cut = icmp slt i64 %past, %chunks
  %last = select i1 %cut, i64 %past, i64 %chunks
  %offset = mul i64 %part, {record}
  %records = getelementptr i8, ptr %pool, i64 {records}
  %counter = getelementptr i8, ptr %records, i64 %offset
  br label %look
look:
  %asks = phi i64 [%asking, %section], [0, %ran], [%still.asks, %weighed]
  %done = phi i64 [%sofar, %section], [%done.next, %ran], [%done.next, %weighed]
  %seen = load atomic i64, ptr %counter monotonic, align 8
  %any = icmp slt i64 %seen, %last
  br i1 %any, label %take, label %empty
take:
  %chunk = atomicrmw add ptr %counter, i64 1 monotonic, align 8
  %got = icmp slt i64 %chunk, %last
  br i1 %got, label %some, label %empty
some:
  %ends = add i64 %first, %last
  %mirror.up = sub i64 %ends, %chunk
  %mirror = sub i64 %mirror.up, 1
  %place = select i1 %turned, i64 %mirror, i64 %chunk
  %ahead = mul i64 %place, %grain
  %begin = add i64 %base, %ahead
  %full = add i64 %begin, %grain
  %over = icmp slt i64 %full, %n
  %end = select i1 %over, i64 %full, i64 %n
  call void %fn(ptr %arg, i64 %begin, i64 %end, i64 %worker)
  br label %ran
ran:
  %done.next = add i64 %done, 1
  %asked = icmp ne i64 %asks, 0
  br i1 %asked, label %weigh, label %look
weigh:
  %clock = call i64 @clock()
  %spent = sub i64 %clock, %asks
  %left = sub i64 %chunks, %done.next
  %spent.left = mul i64 %spent, %left
  %expected = udiv i64 %spent.left, %done.next
  %alonep = getelementptr i8, ptr %pool, i64 {alone}
  %alone = load i64, ptr %alonep, align 8
  %owed = add i64 %alone, %expected
  %pays = icmp sgt i64 %owed, {worth}
  br i1 %pays, label %worth, label %weighed
worth:
  %followed = icmp ne i64 %alone, 0
  %patience = select i1 %followed, i64 {nap}, i64 0
  call void @rouse(ptr %pool, i64 %patience)
  br label %weighed
weighed:
  %still.asks = phi i64 [%asks, %weigh], [0, %worth]
  %probed = icmp slt i64 %tried, 0
  br i1 %probed, label %empty, label %look
empty:
  %asks.left = phi i64 [%asks, %look], [%asks, %take], [%still.asks, %weighed]
  %done.left = phi i64 [%done, %look], [%done, %take], [%done.next, %weighed]
  %tried.next = add i64 %tried, 1
  %part.more = add i64 %part, 1
  %wrap = icmp eq i64 %part.more, %parts
  %part.next = select i1 %wrap, i64 0, i64 %part.more
  %again = icmp slt i64 %tried.next, %parts
  br i1 %again, label %section, label %none
none:
  ret void
}

{spread_ir}
define ptr @la_worker(ptr %record) nounwind {
entry:
  %workerp = getelementptr i8, ptr %record, i64 8
  %worker = load i64, ptr %workerp, align 8
  %poolp = getelementptr i8, ptr %record, i64 16
  %pool = load ptr, ptr %poolp, align 8
  %placep = getelementptr i8, ptr %record, i64 24
  %epochp = getelementptr i8, ptr %pool, i64 {epoch}
  %statep = getelementptr i8, ptr %pool, i64 {state}
  %donep = getelementptr i8, ptr %pool, i64 {done}
  %waitingp = getelementptr i8, ptr %pool, i64 {waiting}
  %sleepersp = getelementptr i8, ptr %pool, i64 {sleepers}
  %stopp = getelementptr i8, ptr %pool, i64 {stop}
  %restp = getelementptr i8, ptr %pool, i64 {rest}
  %spinp = getelementptr i8, ptr %pool, i64 {spin}
  %limit = load i64, ptr %spinp, align 8
  %patiencep = getelementptr i8, ptr %pool, i64 {patience}
  br label %idle
idle:
  %seen = phi i32 [0, %entry], [%seen, %idle.next], [%seen, %yield], [%seen, %sleep], [%now, %missed], [%now, %finish]
  %tries = phi i64 [0, %entry], [%more, %idle.next], [%tries, %yield], [0, %sleep], [0, %missed], [0, %finish]
  %least = phi i64 [0, %entry], [%least, %idle.next], [%least, %yield],
                   [%adapted, %sleep], [%least, %missed], [%least, %finish]
  %credit = phi i64 [0, %entry], [%credit, %idle.next], [%credit, %yield],
                    [%adapted, %sleep], [%credit, %missed], [%earned, %finish]
  %since = phi i64 [0, %entry], [%since, %idle.next], [%since.now, %yield],
                   [0, %sleep], [%since, %missed], [0, %finish]
  %now = load atomic i32, ptr %epochp acquire, align 4
  %news = icmp ne i32 %now, %seen
  br i1 %news, label %look, label %idle.wait
idle.wait:
  %rest = load atomic i32, ptr %restp monotonic, align 4
  %wanted = icmp eq i32 %rest, 0
  br i1 %wanted, label %patient, label %sleep
patient:
  %early = icmp slt i64 %tries, %limit
  br i1 %early, label %idle.next, label %owed
idle.next:
  {pause}
  %more = add i64 %tries, 1
  br label %idle
owed:
  %ticking = call i64 @clock()
  %counting = icmp ne i64 %since, 0
  %since.now = select i1 %counting, i64 %since, i64 %ticking
  %waited = sub i64 %ticking, %since.now
  %left = icmp slt i64 %waited, %credit
  br i1 %left, label %yield, label %sleep
yield:
  %y = call i32 @sched_yield()
  br label %idle
sleep:
  %at = call i32 @place()
  store atomic i32 %at, ptr %placep monotonic, align 4
  %c0 = atomicrmw add ptr %sleepersp, i32 1 seq_cst, align 4
  %fell = call i64 @clock()
  call void @park(ptr %pool, ptr %epochp, i32 %seen)
  %woke = call i64 @clock()
  %c1 = atomicrmw sub ptr %sleepersp, i32 1 seq_cst, align 4
  store atomic i32 -1, ptr %placep monotonic, align 4
  %slept = sub i64 %woke, %fell
  %nap = icmp ult i64 %slept, {nap}
  %told = load atomic i64, ptr %patiencep monotonic, align 8
  %adapted = select i1 %nap, i64 {nap}, i64 %told
  br label %idle
look:
  %stopping = load atomic i32, ptr %stopp acquire, align 4
  %go = icmp eq i32 %stopping, 0
  br i1 %go, label %first, label %leave
first:
  %s0 = load atomic i64, ptr %statep acquire, align 8
  br label %join
join:
  %s = phi i64 [%s0, %first], [%found, %try]
  %openbit = and i64 %s, 4294967296
  %open = icmp ne i64 %openbit, 0
  %joined = and i64 %s, 65535
  %most.high = lshr i64 %s, 16
  %most = and i64 %most.high, 65535
  %room = icmp ult i64 %joined, %most
  %may = and i1 %open, %room
  br i1 %may, label %try, label %missed
missed:
  br label %idle
try:
  %s.next = add i64 %s, 1
  %swap = cmpxchg ptr %statep, i64 %s, i64 %s.next acq_rel acquire, align 8
  %found = extractvalue { i64, i1 } %swap, 0
  %won = extractvalue { i64, i1 } %swap, 1
  br i1 %won, label %part, label %join
part:
  %began = call i64 @clock()
  call void @work(ptr %pool, i64 %worker, i64 0)
  %ended = call i64 @clock()
  %c2 = atomicrmw add ptr %donep, i32 1 seq_cst, align 4
  %waiting = load atomic i32, ptr %waitingp seq_cst, align 4
  %awaited = icmp ne i32 %waiting, 0
  br i1 %awaited, label %call, label %finish
call:
  call void @wake(ptr %pool, ptr %donep, i32 1)
  br label %finish
finish:
  %waiting.long = icmp ne i64 %since, 0
  %waited.since = sub i64 %began, %since
  %used = select i1 %waiting.long, i64 %waited.since, i64 0
  %worked = sub i64 %ended, %began
  %worth.of.it = mul i64 %worked, {longer}
  %unused = sub i64 %credit, %used
  %saved = add i64 %unused, %worth.of.it
  %more.than.least = icmp sgt i64 %saved, %least
  %enough = select i1 %more.than.least, i64 %saved, i64 %least
  %beyond = icmp sgt i64 %enough, {most}
  %earned = select i1 %beyond, i64 {most}, i64 %enough
  br label %idle
leave:
  ret ptr null
}

define i64 @la_run(ptr %pool, ptr %fn, ptr %arg, i64 %n, i64 %grain, i64 %shares, i64 %base) nounwind {
entry:
  %most = and i64 %shares, 65535
  %turning.up = lshr i64 %shares, {turning}
  %turning = and i64 %turning.up, 1
  %hurry.bit = and i64 %shares, {hurry}
  %hurry = icmp ne i64 %hurry.bit, 0
  %lockp = getelementptr i8, ptr %pool, i64 {lock}
  %held = cmpxchg ptr %lockp, i32 0, i32 1 acquire monotonic, align 4
  %mine = extractvalue { i32, i1 } %held, 1
  br i1 %mine, label %launch, label %serial
serial:
  call void %fn(ptr %arg, i64 %base, i64 %n, i64 0)
  ret i64 1
launch:
  %epochp = getelementptr i8, ptr %pool, i64 {epoch}
  %statep = getelementptr i8, ptr %pool, i64 {state}
  %donep = getelementptr i8, ptr %pool, i64 {done}
  %waitingp = getelementptr i8, ptr %pool, i64 {waiting}
  %sleepersp = getelementptr i8, ptr %pool, i64 {sleepers}
  %spinp = getelementptr i8, ptr %pool, i64 {spin}
  %limit = load i64, ptr %spinp, align 8
  %job = getelementptr i8, ptr %pool, i64 {job}
  store ptr %fn, ptr %job, align 8
  %argp = getelementptr i8, ptr %job, i64 8
  store ptr %arg, ptr %argp, align 8
  %np = getelementptr i8, ptr %job, i64 16
  store i64 %n, ptr %np, align 8
  %grainp = getelementptr i8, ptr %job, i64 24
  store i64 %grain, ptr %grainp, align 8
  %parts = add i64 %most, 1
  %basep = getelementptr i8, ptr %job, i64 72
  store i64 %base, ptr %basep, align 8
  %lastp = getelementptr i8, ptr %job, i64 88
  %turn.last = load i64, ptr %lastp, align 8
  %turn = xor i64 %turn.last, %turning
  store i64 %turn, ptr %lastp, align 8
  %turn.now = and i64 %turn, %turning
  %turnedp = getelementptr i8, ptr %job, i64 80
  store i64 %turn.now, ptr %turnedp, align 8
  %count = sub i64 %n, %base
  %n.up = add i64 %count, %grain
  %n.less = sub i64 %n.up, 1
  %chunks = udiv i64 %n.less, %grain
  %chunks.up = add i64 %chunks, %most
  %per = udiv i64 %chunks.up, %parts
  %perp = getelementptr i8, ptr %job, i64 40
  store i64 %per, ptr %perp, align 8
  %chunksp = getelementptr i8, ptr %job, i64 48
  store i64 %chunks, ptr %chunksp, align 8
  %partsp = getelementptr i8, ptr %job, i64 56
  store i64 %parts, ptr %partsp, align 8
  %records = getelementptr i8, ptr %pool, i64 {records}
  br label %deal
deal:
  %part = phi i64 [0, %launch], [%part.next, %deal]
  %offset = mul i64 %part, {record}
  %counter = getelementptr i8, ptr %records, i64 %offset
  %first = mul i64 %part, %per
  store atomic i64 %first, ptr %counter monotonic, align 8
  %part.next = add i64 %part, 1
  %deal.more = icmp slt i64 %part.next, %parts
  br i1 %deal.more, label %deal, label %announce
announce:
  store atomic i32 0, ptr %donep monotonic, align 4
  %s = load i64, ptr %statep, align 8
  %generation = lshr i64 %s, 33
  %generation.next = add i64 %generation, 1
  %s1 = shl i64 %generation.next, 33
  %s2 = shl i64 %most, 16
  %s3 = or i64 %s1, %s2
  %s4 = or i64 %s3, 4294967296
  store atomic i64 %s4, ptr %statep release, align 8
  %restp = getelementptr i8, ptr %pool, i64 {rest}
  store atomic i32 0, ptr %restp monotonic, align 4
  %e = atomicrmw add ptr %epochp, i32 1 seq_cst, align 4
  %sleeping = load atomic i32, ptr %sleepersp seq_cst, align 4
  %countp = getelementptr i8, ptr %pool, i64 {count}
  %workers = load i64, ptr %countp, align 8
  %sleeping64 = zext i32 %sleeping to i64
  %up = sub i64 %workers, %sleeping64
  %few = icmp slt i64 %up, %most
  br i1 %few, label %asleep, label %together
together:
  call void @work(ptr %pool, i64 0, i64 0)
  br label %close
asleep:
  br i1 %hurry, label %at.once, label %alone
at.once:
  call void @rouse(ptr %pool, i64 0)
  br label %together
alone:
  %alonep = getelementptr i8, ptr %pool, i64 {alone}
  %endedp = getelementptr i8, ptr %pool, i64 {ended}
  %began = call i64 @clock()
  %ended = load i64, ptr %endedp, align 8
  %paused = sub i64 %began, %ended
  %before = load i64, ptr %alonep, align 8
  %faded = udiv i64 %paused, {fading}
  %rest.of.it = sub i64 %before, %faded
  %any.left = icmp sgt i64 %rest.of.it, 0
  %kept = select i1 %any.left, i64 %rest.of.it, i64 0
  store i64 %kept, ptr %alonep, align 8
  %known = icmp sgt i64 %kept, {worth}
  br i1 %known, label %again, label %try.alone
again:
  call void @rouse(ptr %pool, i64 {nap})
  br label %together
try.alone:
  call void @work(ptr %pool, i64 0, i64 %began)
  %now = call i64 @clock()
  %took = sub i64 %now, %began
  %still = load i64, ptr %alonep, align 8
  %sum = add i64 %still, %took
  store i64 %sum, ptr %alonep, align 8
  store i64 %now, ptr %endedp, align 8
  br label %close
close:
  %s5 = atomicrmw and ptr %statep, i64 -4294967297 acq_rel, align 8
  %joined64 = and i64 %s5, 65535
  %joined = trunc i64 %joined64 to i32
  br label %spin
spin:
  %tries = phi i64 [0, %close], [%more, %spin.next]
  %d0 = load atomic i32, ptr %donep acquire, align 4
  %all0 = icmp eq i32 %d0, %joined
  br i1 %all0, label %finish, label %spin.wait
spin.wait:
  %patient = icmp slt i64 %tries, %limit
  br i1 %patient, label %spin.next, label %doze
spin.next:
  {pause}
  %more = add i64 %tries, 1
  br label %spin
doze:
  store atomic i32 1, ptr %waitingp seq_cst, align 4
  br label %await
await:
  %d1 = load atomic i32, ptr %donep seq_cst, align 4
  %all1 = icmp eq i32 %d1, %joined
  br i1 %all1, label %awake, label %await.park
await.park:
  call void @park(ptr %pool, ptr %donep, i32 %d1)
  br label %await
awake:
  store atomic i32 0, ptr %waitingp seq_cst, align 4
  br label %finish
finish:
  store atomic i32 0, ptr %lockp release, align 4
  ret i64 0
}

define void @la_stop(ptr %pool) nounwind {
  %stopp = getelementptr i8, ptr %pool, i64 {stop}
  store atomic i32 1, ptr %stopp release, align 4
  %epochp = getelementptr i8, ptr %pool, i64 {epoch}
  %e = atomicrmw add ptr %epochp, i32 1 seq_cst, align 4
  call void @wake(ptr %pool, ptr %epochp, i32 65535)
  ret void
}

define void @la_spin(i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%more, %loop]
  {pause}
  %more = add i64 %i, 1
  %again = icmp slt i64 %more, %n
  br i1 %again, label %loop, label %leave
leave:
  ret void
}
"""


def _pause(architecture: str) -> tuple[str, str]:
    if architecture in ("x86_64", "i686", "amd64"):
        return "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
    if architecture in ("aarch64", "arm64"):
        # ISB: the YIELD hint is a no-op on most cores, and spinning would then hammer the awaited line.
        return "declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)"
    return "", "fence seq_cst"


def pool_ir(parking: str, architecture: str, for_python: bool, spread: bool) -> str:
    """The module's text for one way of parking ("python": only the entry that calls a kernel directly).

    `spread`: the system has Linux's calls for thread affinity.
    """
    declare, pause = _pause(architecture)
    values: dict[str, object] = {
        "epoch": _EPOCH, "done": _DONE, "job": _JOB, "lock": _LOCK, "sleepers": _SLEEPERS,
        "state": _STATE, "waiting": _WAITING, "stop": _STOP, "spin": SPIN_OFFSET, "rest": REST_OFFSET, "pause": pause,
        "records": RECORDS_OFFSET, "record": RECORD_BYTES, "count": COUNT_OFFSET,
        "allowed": ALLOWED_OFFSET, "mask": _MASK, "mutex": _MUTEX, "condition": _CONDITION,
        "call": FUTEX_CALLS.get(architecture, 0),
        "longer": _LONGER, "nap": _NAP, "most": _MOST, "fading": _FADING, "monotonic": _MONOTONIC,
        "turning": TURNING.bit_length() - 1, "hurry": AT_ONCE, "worth": _WORTH,
        "alone": ALONE_OFFSET, "ended": _ENDED, "patience": _PATIENCE, "parts": _JOB + 56,
        "wait": _FUTEX_WAIT_PRIVATE, "wake": _FUTEX_WAKE_PRIVATE,
    }  # fmt: skip
    parts = [PYTHON_IR] if for_python else []
    if parking != "python":
        parts += [declare, FUTEX_IR if parking == "futex" else CONDITION_IR, _POOL_IR]
        parts += [PYTHON_RUN_IR] if for_python else []
    text = "\n".join(parts)
    text = text.replace("{spread_ir}", SPREAD_IR if spread else NO_SPREAD_IR)
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text
