/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How much of a thread's wait the quota of its cgroup took (throttling.h): a wait notes what the clock of its queue says
 * when it begins, and is split at its end. What it is while it is under way user space asks an iterator (tell_held()).
 *
 * Since 6.18 a quota holds back what leaves the CPU because of it, and nothing else that waits; before, all that is in a
 * throttled queue, and that may become so while it waits.
 */
#ifndef SCHEDTOP_TASK_HELD_H
#define SCHEDTOP_TASK_HELD_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../throttling.h"
#include "task.h"

#ifdef QUOTA_SUM_OFFSET

/* May a quota take a part of a wait that begins now? */
static __always_inline bool may_be_held(u64 task)
{
#ifdef TASK_THROTTLED_OFFSET
	return is_held(task);
#else
	return (s32)FIELD(u32, task, TASK_PRIO_OFFSET) >= FIRST_FAIR_PRIO;
#endif
}

/* A wait begins: `thread` has the state for it since `now`. */
static __always_inline void note_held(struct task_thread *thread, u64 task, u64 now)
{
	if (!may_be_held(task))
		return;
	read_quota(&thread->before, TASK_POINTER(task, TASK_CFS_RQ_OFFSET));
	thread->noted_ns = thread->here_ns = now;
	thread->held_ns = 0;
	if (is_held(task))
		thread->state = THREAD_THROTTLED;
}

/* Since the start it has not been switched in: user space took it for running, but it may have been queued. */
static __always_inline bool is_as_at_start(struct task_thread *thread)
{
	return thread->state == THREAD_RUNNING && !thread->cpu_and_one;
}

static __always_inline bool is_noted(struct task_thread *thread)
{
	return thread->noted_ns == thread->since_ns &&
	       (thread->state == THREAD_RUNNABLE || thread->state == THREAD_THROTTLED || is_as_at_start(thread));
}

static __always_inline u64 held_so_far(struct task_thread *thread, u64 task, u64 now)
{
	u64 cfs_rq = TASK_POINTER(task, TASK_CFS_RQ_OFFSET);

	/* Put into another cgroup meanwhile: of the former one's queue nothing is known any more. */
	if (cfs_rq != thread->before.cfs_rq)
		return thread->held_ns;
	return thread->held_ns + throttled_since(&thread->before, cfs_rq, now - thread->here_ns);
}

/* The wait goes on in the queue of another CPU. */
static __always_inline void move_held(struct task_thread *thread, u64 task, u32 cpu, u64 now)
{
	bool throttled;

	if (!is_noted(thread))
		return;
	thread->held_ns = held_so_far(thread, task, now);
	thread->here_ns = now;
	throttled = read_quota_there(&thread->before, task, cpu);
#ifdef TASK_THROTTLED_OFFSET
	/* It has its quota back. */
	if (!is_held(task)) {
		thread->before.cfs_rq = 0;
		throttled = false;
	}
#endif
	thread->state = throttled ? THREAD_THROTTLED : THREAD_RUNNABLE;
}

/* The wait ends: what its quota took of it is throttled, and it is runnable from then on. */
static __always_inline void split_wait(struct task_thread *thread, u64 task, u64 now)
{
	u64 held, wait = now - thread->since_ns;

	if (!is_noted(thread) || (s64)wait < 0)
		return;
	held = held_so_far(thread, task, now);
	if (held > wait)
		held = wait;
	if (held)
		account(thread, THREAD_THROTTLED, thread->since_ns + held);
	thread->state = held && held == wait ? THREAD_THROTTLED : THREAD_RUNNABLE;
}

#ifdef HAVE_ITER_TASK

/*
 * The clock of a queue at this moment. It stands still between two ticks, and for longer while its CPU is idle; that of
 * the CPU where this runs does not, and CPUs agree about the time.
 */
static __always_inline u64 quota_clock_now(u64 cfs_rq)
{
	u64 clock = quota_clock(cfs_rq);
	u64 behind = pointer_at(current_queue() + RQ_CLOCK_OFFSET) -
		     FIELD(u64, FIELD(u64, cfs_rq, CFS_RQ_RQ_OFFSET), RQ_CLOCK_OFFSET);

	return (s64)behind > 0 ? clock + behind : clock;
}

/*
 * How much of the wait under way in this queue, which has lasted for `wait`, the quota has taken by now. `since`: when it
 * began to hold the thread back, 0 if it does not.
 */
static __always_inline u64 throttled_by_now(struct quota_reading *before, u64 cfs_rq, u64 since, u64 wait)
{
	u64 grown = FIELD(u64, cfs_rq, QUOTA_SUM_OFFSET) - before->sum, queued;

	if (!before->since) {
		if (since)
			grown += quota_clock_now(cfs_rq) - since;
		return grown < wait ? grown : wait;
	}
	/* From its beginning on. */
	if (!grown)
		return wait;
	queued = (since ? since : quota_clock_now(cfs_rq)) - (before->since + grown);
	return queued < wait ? wait - queued : 0;
}

/*
 * A wait that began before the start is noted when it is first asked for. `state` is not written: if the thread is
 * switched in meanwhile, this is about a wait that is over.
 */
static __always_inline void note_first(struct task_thread *thread, u64 task)
{
	if (!is_as_at_start(thread) || is_noted(thread) || FIELD(TASK_ON_CPU_TYPE, task, TASK_ON_CPU_OFFSET) ||
	    !may_be_held(task))
		return;
	read_quota(&thread->before, TASK_POINTER(task, TASK_CFS_RQ_OFFSET));
	thread->held_ns = 0;
	thread->noted_ns = thread->here_ns = thread->since_ns;
}

/* The quota's part of a thread's wait under way; what this writes for each, and user space puts into their rows. */
static __always_inline void tell_held(u64 file, struct task_thread *thread, u64 task)
{
	int (*seq_write)(u64 file, const void *data, u32 size) = (void *)BPF_SEQ_WRITE;
	u64 cfs_rq = TASK_POINTER(task, TASK_CFS_RQ_OFFSET), since;
	struct task_held held = {
		.since_ns = thread->since_ns,
		.held_ns = thread->held_ns,
		.tid = thread->tid,
		.held = is_held(task),
	};

	if (!is_noted(thread))
		return;
	held.at_ns = bpf_ktime_get_ns();
	if (cfs_rq == thread->before.cfs_rq) {
		since = held.held ? FIELD(u64, cfs_rq, QUOTA_SINCE_OFFSET) : 0;
		held.held_ns += throttled_by_now(&thread->before, cfs_rq, since, held.at_ns - thread->here_ns);
	}
	seq_write(file, &held, sizeof(held));
}

#endif

#else

static __always_inline void note_held(struct task_thread *thread, u64 task, u64 now)
{
#ifdef TASK_THROTTLED_OFFSET
	if (FIELD(u8, task, TASK_THROTTLED_OFFSET))
		thread->state = THREAD_THROTTLED;
#endif
}

static __always_inline void move_held(struct task_thread *thread, u64 task, u32 cpu, u64 now)
{
}

static __always_inline void split_wait(struct task_thread *thread, u64 task, u64 now)
{
}

#endif

#endif
