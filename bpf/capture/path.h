/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the path across tasks needs beside the events (flag TELLS_PATH): in which system call a task blocks, for a disk or
 * not; of a sleep that was not short, the stack in which the task slept and, if no task woke it, that of what did; and
 * how much of a wait was a quota's.
 *
 * A stack costs more than a switch. It is taken at the wakeup: by then it is known how long the sleep was, and the few
 * long ones are those that are asked about.
 */
#ifndef SCHEDTOP_CAPTURE_PATH_H
#define SCHEDTOP_CAPTURE_PATH_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../registers.h"
#include "../throttling.h"
#include "../woken_by.h"
#include "capture.h"

#define LEFT_SLOTS 65536 /* a power of two */
#define STACKS_KEPT 4096 /* of each CPU, a power of two; user space takes them every 20 ms */
#define PATH_DEPTH 32
#define CALL_MASK 0xffff /* of add_switch(): the number of a system call plus 1 */
#define CALL_IOWAIT (1U << 16)
#define CALL_THROTTLED (1U << 17)
#define MOST_CALLS 0xfffe

/* The last time that a task left a CPU, by the low bits of its tid. Two tasks of one slot only cost each other a stack. */
struct left_slot {
	u64 time_ns;
	u32 tid;
	u32 held; /* enum held */
	u64 held_ns; /* HELD_BEFORE */
#ifdef QUOTA_SUM_OFFSET
	struct quota_reading before; /* HELD_HERE */
#endif
};

enum held {
	NOT_HELD,
	HELD_HERE, /* it left because of a quota */
	HELD_BEFORE, /* it got that back, and was moved to another queue */
};

struct path_stack {
	u64 address[PATH_DEPTH];
};

BPF_TABLE("array", u32, struct left_slot, left_slots, LEFT_SLOTS);
BPF_F_TABLE("array", u32, struct path_stack, path_stacks, 1, BPF_F_MMAPABLE);

static __always_inline struct left_slot *left_slot_of(u32 tid)
{
	u32 index = tid & (LEFT_SLOTS - 1);

	return left_slots.lookup(&index);
}

/* The system call that a task is in plus 1; 0: none. */
static __always_inline u32 call_of(struct ring *ring, u64 task)
{
#ifdef REGS_SYSCALL_OFFSET
	u32 number;

	/* A thread of the kernel has no registers of a caller. */
	if (!FIELD(u64, task, TASK_MM_OFFSET))
		return 0;
#ifdef TASK_STATUS_OFFSET
	/* The numbers of 32-bit programs are others. */
	if (FIELD(u32, task, TASK_STATUS_OFFSET) & COMPAT_STATUS)
		return 0;
#endif
	number = syscall_number(task, &ring->cpu->regs_in_stack);
	return number < MOST_CALLS ? number + 1 : 0;
#else
	return 0;
#endif
}

static __always_inline bool is_in_iowait(u64 task)
{
#ifdef TASK_IOWAIT_BYTE
	return FIELD(u8, task, TASK_IOWAIT_BYTE) & TASK_IOWAIT_BIT;
#else
	return false;
#endif
}

/* What its queue's clock says when a task leaves because of a quota. */
static __always_inline void note_held(struct ring *ring, struct left_slot *slot, u64 task)
{
#ifdef QUOTA_SUM_OFFSET
	read_quota(&slot->before, TASK_POINTER(task, TASK_CFS_RQ_OFFSET));
	slot->held = HELD_HERE;
	if (!ring->settings->any_held)
		ring->settings->any_held = 1;
#endif
}

/* How much of the wait so far was the quota's. */
static __always_inline u64 held_part(struct left_slot *slot, u64 task, u64 now)
{
	u64 wait = now - slot->time_ns;
#ifdef QUOTA_SUM_OFFSET
	u64 cfs_rq = TASK_POINTER(task, TASK_CFS_RQ_OFFSET);

	if (cfs_rq == slot->before.cfs_rq)
		return throttled_since(&slot->before, cfs_rq, wait);
#endif
	return wait;
}

/* A task leaves a CPU; what add_switch() is to keep of it. `wants`: it still wants to run. */
static __always_inline u32 path_leaves(struct ring *ring, u64 task, u32 tid, bool wants)
{
	struct left_slot *slot;
	u32 call;

	if (!tid)
		return 0;
	slot = left_slot_of(tid);
	if (!slot)
		return 0;
	slot->time_ns = ring->now;
	slot->tid = tid;
	slot->held = 0;
	if (!wants) {
		call = call_of(ring, task);
		return is_in_iowait(task) ? call | CALL_IOWAIT : call;
	}
	if (!is_held(task))
		return 0;
	note_held(ring, slot, task);
	return CALL_THROTTLED;
}

/* A task comes to a CPU. */
static __always_inline void path_comes(struct ring *ring, u64 task, u32 tid)
{
	struct left_slot *slot;
	struct capture_event *event;
	u64 ns;

	/* Nearly always. */
	if (!ring->settings->any_held)
		return;
	slot = left_slot_of(tid);
	if (!slot || slot->tid != tid || !slot->held)
		return;
	ns = slot->held == HELD_HERE ? held_part(slot, task, ring->now) : slot->held_ns;
	slot->held = NOT_HELD;
	event = reserve(ring, CAPTURE_HELD, tid);
	if (!event)
		return;
	event->other_tid = 0;
	AFTER_OTHER_TID(event)[0] = ns;
	AFTER_OTHER_TID(event)[1] = 0;
	commit(ring);
}

#ifdef HAVE_ITER_TASK
/* Of an iterator over all tasks: which of them has a CPU now. Where no task has one, nothing is noted. */
static __always_inline void note_running(u64 task, u32 tid, s32 prio, u32 cpu_id)
{
	struct capture_cpu *cpu;
	struct capture_config *settings;
	u32 zero = 0;

	if (!FIELD(TASK_ON_CPU_TYPE, task, TASK_ON_CPU_OFFSET))
		return;
	settings = config.lookup(&zero);
	cpu = cpus.lookup(&cpu_id);
	if (!settings || !cpu)
		return;
	cpu->had_by = tid;
	cpu->had_prio = prio;
	cpu->look = settings->look;
}
#endif

/* A task is moved to another queue. */
static __always_inline void path_moves(struct ring *ring, u64 task, u32 tid)
{
	struct left_slot *slot;

	if (!ring->settings->any_held)
		return;
	slot = left_slot_of(tid);
	if (!slot || slot->tid != tid || slot->held != HELD_HERE || is_held(task))
		return;
	slot->held_ns = held_part(slot, task, ring->now);
	slot->held = HELD_BEFORE;
}

/* `of`: the task whose stack it is, 0: the current one, with the interrupt in its time. */
static __always_inline void take_stack(struct ring *ring, void *ctx, u64 of, u32 tid)
{
	u32 index = ring->cpu_id * STACKS_KEPT + (ring->cpu->stacks & (STACKS_KEPT - 1));
	struct path_stack *stack = path_stacks.lookup(&index);
	struct capture_event *event;
	s64 bytes;

	if (!stack)
		return;
	if (of)
		bytes = bpf_get_task_stack((void *)of, stack, sizeof(*stack), 0);
	else
		bytes = bpf_get_stack(ctx, stack, sizeof(*stack), 0);
	if (bytes <= 0) {
		ring->cpu->stacks_refused++;
		return;
	}
	event = reserve(ring, CAPTURE_STACK, tid);
	if (!event)
		return;
	event->other_tid = bpf_get_current_pid_tgid();
	AFTER_OTHER_TID(event)[0] = ring->cpu->stacks++;
	AFTER_OTHER_TID(event)[1] = (u64)bytes << 8 | !of;
	commit(ring);
}

/* A task is woken: where it slept, and what woke it. */
static __always_inline void path_wakes(struct ring *ring, void *ctx, u64 task, u32 tid)
{
	struct left_slot *slot = left_slot_of(tid);

	if (!slot)
		return;
	/* Of a task that slept since before the recording it is not known how long. */
	if (slot->tid == tid && ring->now - slot->time_ns < ring->settings->least_sleep_ns)
		return;
#ifdef TASK_ON_CPU_OFFSET
	/* It is on its way to sleep. */
	if (FIELD(TASK_ON_CPU_TYPE, task, TASK_ON_CPU_OFFSET))
		return;
#endif
	take_stack(ring, ctx, task, tid);
	if (woken_by(preempt_count(0)) != BY_TASK)
		take_stack(ring, ctx, 0, tid);
}

#endif
