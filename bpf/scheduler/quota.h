/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How much of a wait the quota of a cgroup took (throttling.h): a wait notes what the clock says when it begins.
 *
 * Before 6.18 a throttled cfs_rq leaves the run queue with all tasks in it, however they came there. Since 6.18 each
 * task leaves on its way to user space, and task_struct.throttled tells it.
 *
 * The lines of a cfs_rq may be cold, so nothing here is read unless user space has found a quota (config.quotas).
 */
#ifndef SCHEDTOP_SCHEDULER_QUOTA_H
#define SCHEDTOP_SCHEDULER_QUOTA_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../throttling.h"
#include "maps.h"
#include "tasks.h"

#ifdef QUOTA_SUM_OFFSET

/* The wait under way of a task. Written as its slot is. */
struct quota_mark {
	u64 wait_start_ns; /* of the slot: else this is about an earlier wait */
	struct quota_reading before; /* where it waits */
	u64 from_ns; /* when the task came here, 0: its wait began here */
	u64 before_ns; /* throttled on the queues before */
	u32 tid;
	u32 began; /* what slot->wait_kind was: while its queue is throttled that says so */
	u32 reserved[2];
};

BPF_TABLE("array", u32, struct quota_mark, quota_marks, TASK_SLOTS);

static __always_inline bool has_quotas(void)
{
	u32 zero = 0;
	struct config *settings = config.lookup(&zero);

	return settings && settings->quotas;
}

static __always_inline struct quota_mark *quota_mark_of(struct task_slot *slot)
{
	u32 index = slot->tid & (TASK_SLOTS - 1);

	return quota_marks.lookup(&index);
}

/* Leaves the CPU because of a quota. */
static __always_inline bool leaves_throttled(u64 task)
{
#ifdef TASK_THROTTLED_OFFSET
	return FIELD(u8, task, TASK_THROTTLED_OFFSET);
#else
	return has_quotas() && in_throttled_queue(task);
#endif
}

/* What its queue's clock says is in `before` already. */
static __always_inline void write_mark(struct quota_mark *mark, struct task_slot *slot, bool throttled)
{
	mark->from_ns = mark->before_ns = 0;
	mark->tid = slot->tid;
	mark->wait_start_ns = slot->wait_start_ns;
	mark->began = slot->wait_kind;
	if (throttled)
		slot->wait_kind = WAIT_THROTTLED;
}

static __always_inline bool is_of_this_wait(struct quota_mark *mark, struct task_slot *slot)
{
	return mark->tid == slot->tid && mark->wait_start_ns == slot->wait_start_ns;
}

/* Where the wait of a task is noted that a quota may hold back; NULL for all others. */
static __always_inline struct quota_mark *mark_to_write(struct task_id *id, struct task_slot *slot)
{
#ifdef TASK_THROTTLED_OFFSET
	if (slot->wait_kind != WAIT_THROTTLED)
		return NULL;
#else
	if (!has_quotas() || (s32)FIELD(u32, id->task, TASK_PRIO_OFFSET) < FIRST_FAIR_PRIO)
		return NULL;
#endif
	return quota_mark_of(slot);
}

/* A wait begins, and slot->wait_start_ns is set. */
static __always_inline void note_quota(struct task_id *id, struct task_slot *slot)
{
	struct quota_mark *mark = mark_to_write(id, slot);
	u64 cfs_rq;

	if (!mark)
		return;
	cfs_rq = TASK_POINTER(id->task, TASK_CFS_RQ_OFFSET);
	read_quota(&mark->before, cfs_rq);
	write_mark(mark, slot, is_throttled(cfs_rq));
}

/* How much of a wait that has lasted for `wait` its quota took, given that it is `now`. */
static __always_inline u64 throttled_part(struct task_id *id, struct task_slot *slot, u64 wait, u64 now)
{
	struct quota_mark *mark;
	u64 here = wait, cfs_rq, ns;

#ifdef TASK_THROTTLED_OFFSET
	if (slot->wait_kind != WAIT_THROTTLED)
		return 0;
#else
	if (!has_quotas())
		return slot->wait_kind == WAIT_THROTTLED ? wait : 0;
#endif
	mark = quota_mark_of(slot);
	if (!mark || !is_of_this_wait(mark, slot))
		return slot->wait_kind == WAIT_THROTTLED ? wait : 0;
	if (mark->from_ns)
		here = now - mark->from_ns;
	cfs_rq = TASK_POINTER(id->task, TASK_CFS_RQ_OFFSET);
	/* Put into another cgroup meanwhile: of the former one's queue nothing is known any more. */
	if (cfs_rq != mark->before.cfs_rq)
		return 0;
	ns = mark->before_ns + throttled_since(&mark->before, cfs_rq, here);
	return ns < wait ? ns : wait;
}

/* How the wait that ends began. */
static __always_inline void restore_kind(struct task_slot *slot)
{
	struct quota_mark *mark;

	if (slot->wait_kind != WAIT_THROTTLED)
		return;
	mark = quota_mark_of(slot);
	if (mark && is_of_this_wait(mark, slot))
		slot->wait_kind = mark->began;
}

/* The same before it has ended: at a move. */
static __always_inline u64 throttled_so_far(struct task_id *id, struct task_slot *slot, u64 now)
{
#ifdef TASK_THROTTLED_OFFSET
	if (slot->wait_kind != WAIT_THROTTLED)
		return 0;
#else
	if (!has_quotas())
		return 0;
#endif
	return throttled_part(id, slot, now - slot->wait_start_ns, now);
}

/* The queue of its group on another CPU, read with what it says. */
static __always_inline void note_quota_there(struct task_id *id, struct task_slot *slot, u32 cpu)
{
	struct quota_mark *mark = quota_mark_of(slot);

	if (mark)
		write_mark(mark, slot, read_quota_there(&mark->before, id->task, cpu));
}

/*
 * The task moves to another CPU's queue. `before_ns`: what throttled_part() says of the wait so far; 0 in a wakeup, whose
 * wait begins there.
 */
static __always_inline void move_quota(struct task_id *id, struct task_slot *slot, u32 cpu, u64 before_ns, u64 now)
{
	struct quota_mark *mark = mark_to_write(id, slot);

	if (!mark)
		return;
	if (mark->tid == slot->tid && slot->wait_kind == WAIT_THROTTLED)
		slot->wait_kind = mark->began;
	note_quota_there(id, slot, cpu);
	mark->before_ns = before_ns;
	mark->from_ns = now;
#ifdef TASK_THROTTLED_OFFSET
	/* It gets its quota back on the way, or waits for that of the other queue. */
	if (!FIELD(u8, id->task, TASK_THROTTLED_OFFSET))
		mark->before.since = 0;
#endif
}

#else

static __always_inline bool leaves_throttled(u64 task)
{
#ifdef TASK_THROTTLED_OFFSET
	return FIELD(u8, task, TASK_THROTTLED_OFFSET);
#else
	return false;
#endif
}

static __always_inline void note_quota(struct task_id *id, struct task_slot *slot)
{
}

static __always_inline u64 throttled_part(struct task_id *id, struct task_slot *slot, u64 wait, u64 now)
{
	return slot->wait_kind == WAIT_THROTTLED ? wait : 0;
}

static __always_inline void restore_kind(struct task_slot *slot)
{
}

static __always_inline u64 throttled_so_far(struct task_id *id, struct task_slot *slot, u64 now)
{
	return 0;
}

static __always_inline void move_quota(struct task_id *id, struct task_slot *slot, u32 cpu, u64 before_ns, u64 now)
{
}

#endif

#endif
