/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How long the quota of a cgroup holds back what waits in a cfs_rq (CONFIG_CFS_BANDWIDTH). Each cfs_rq has a clock that runs
 * while it is throttled: since when it is (SINCE), and the sum of the times before (SUM), by a clock of its run queue
 * (CLOCK). The QUOTA_* flags name those of the running kernel (schedtop/sources/kernel/quotas.py). What they say when a
 * wait begins is kept, and its end tells when the quota came back: at SINCE + what SUM has grown by.
 */
#ifndef SCHEDTOP_THROTTLING_H
#define SCHEDTOP_THROTTLING_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"

/* MAX_RT_PRIO (include/linux/sched/prio.h): below are the real-time classes, which no such quota holds back. */
#define FIRST_FAIR_PRIO 100

#ifdef QUOTA_SUM_OFFSET

/* What the clock of a cfs_rq says. */
struct quota_reading {
	u64 cfs_rq;
	u64 sum;
	u64 since; /* 0: was not throttled then */
};

static __always_inline bool is_throttled(u64 cfs_rq)
{
	return (s32)FIELD(u32, cfs_rq, QUOTA_COUNT_OFFSET) > 0;
}

static __always_inline bool in_throttled_queue(u64 task)
{
	return is_throttled(TASK_POINTER(task, TASK_CFS_RQ_OFFSET)) &&
	       (s32)FIELD(u32, task, TASK_PRIO_OFFSET) >= FIRST_FAIR_PRIO;
}

static __always_inline void read_quota(struct quota_reading *reading, u64 cfs_rq)
{
	reading->cfs_rq = cfs_rq;
	reading->since = is_throttled(cfs_rq) ? FIELD(u64, cfs_rq, QUOTA_SINCE_OFFSET) : 0;
	reading->sum = FIELD(u64, cfs_rq, QUOTA_SUM_OFFSET);
}

static __always_inline u64 quota_clock(u64 cfs_rq)
{
	u64 queue = FIELD(u64, cfs_rq, CFS_RQ_RQ_OFFSET);
	u64 clock = FIELD(u64, queue, QUOTA_CLOCK_OFFSET);

#ifdef QUOTA_LOST_OFFSET
	clock -= FIELD(u64, queue, QUOTA_LOST_OFFSET);
#endif
	return clock;
}

/* The same of the queue of the task's group on another CPU: is it throttled? */
static __always_inline bool read_quota_there(struct quota_reading *reading, u64 task, u32 cpu)
{
	u64 group = FIELD(u64, TASK_POINTER(task, TASK_CFS_RQ_OFFSET), CFS_RQ_GROUP_OFFSET);
	u64 cfs_rq = pointer_at(pointer_at(group + GROUP_QUEUES_OFFSET) + 8 * (u64)cpu);
	bool throttled = cfs_rq && (s32)(u32)pointer_at(cfs_rq + QUOTA_COUNT_OFFSET) > 0;

	reading->cfs_rq = cfs_rq;
	reading->since = throttled ? pointer_at(cfs_rq + QUOTA_SINCE_OFFSET) : 0;
	reading->sum = cfs_rq ? pointer_at(cfs_rq + QUOTA_SUM_OFFSET) : 0;
	return throttled;
}

/* How much of a wait in this cfs_rq its quota took, that has lasted for `wait` since the clock was read. */
static __always_inline u64 throttled_since(struct quota_reading *reading, u64 cfs_rq, u64 wait)
{
	u64 grown = FIELD(u64, cfs_rq, QUOTA_SUM_OFFSET) - reading->sum, ns = grown, queued;

	if (reading->since) {
		queued = quota_clock(cfs_rq) - (reading->since + grown);
		/* Still throttled. */
		if (is_throttled(cfs_rq) && !grown)
			queued = 0;
		ns = queued < wait ? wait - queued : 0;
	}
	return ns < wait ? ns : wait;
}

#endif

/* Does a quota hold the task back? */
static __always_inline bool is_held(u64 task)
{
#ifdef QUOTA_SUM_OFFSET
#ifdef TASK_THROTTLED_OFFSET
	return FIELD(u8, task, TASK_THROTTLED_OFFSET);
#else
	return in_throttled_queue(task);
#endif
#else
	return false;
#endif
}

#endif
