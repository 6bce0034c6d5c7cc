/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a wait is, and what time it is at a switch. The flags choose one of two ways (schedtop/sources/kernel/accounts.py):
 *
 * By account: the kernel keeps for each task how long it has waited, and since when it is queued (task_struct.sched_info,
 * sched_info_arrive() in kernel/sched/stats.h). The tracepoint comes before it adds the wait that ends, which is from
 * last_queued to rq->clock. So run delay is the kernel's to the nanosecond, no clock is read when a task is woken, and
 * the time of a switch is that of rq->clock.
 *
 * By clock: from the moment when we saw it begin, for kernels that tell none of this.
 */
#ifndef SCHEDTOP_SCHEDULER_WAITS_H
#define SCHEDTOP_SCHEDULER_WAITS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "maps.h"
#include "tasks.h"

/* The moment of a switch. */
struct moment {
	u64 now; /* CLOCK_MONOTONIC, as all times that user space sees */
	u64 queue_clock; /* rq->clock, by which the kernel accounts */
	u64 late; /* by how much that one is behind */
};

/* A wait that ends. */
struct wait {
	u64 ns;
	u64 run_delay_ns; /* what the kernel makes of it */
	u64 throttled_ns; /* what a quota took of both (quota.h) */
};

#ifdef RQ_CLOCK_OFFSET

/*
 * How the clock of a run queue leads to CLOCK_MONOTONIC: the least difference that was seen lately, since reading the
 * one after the other only ever adds to it. Two windows in turn (2^25 ns), so that it follows the adjustment of the clock;
 * what is older than 2^30 ns says nothing any more.
 */
#define CLOCK_WINDOW_NS (1ULL << 25)
#define CLOCK_FORGOTTEN_NS (1ULL << 30)

#ifdef BPF_JIFFIES64
static __always_inline u64 ticks_ns(void)
{
	u64 (*jiffies64)(void) = (void *)BPF_JIFFIES64;

	return jiffies64() * JIFFY_NS;
}
#endif

static __always_inline void note_difference(struct cpu_state *cpu, u64 queue_clock, u64 now, bool stale)
{
	u64 difference = now - queue_clock, age = queue_clock - cpu->clock_window;

	if (age >= CLOCK_FORGOTTEN_NS) {
		cpu->clock_former = cpu->clock_least = difference;
		/* A stale clock is not enough to begin a window with: the next switch reads both again. */
		cpu->clock_window = stale ? queue_clock - CLOCK_WINDOW_NS : queue_clock;
	} else if (age >= CLOCK_WINDOW_NS && !stale) {
		cpu->clock_former = cpu->clock_least;
		cpu->clock_least = difference;
		cpu->clock_window = queue_clock;
	} else if ((s64)(difference - cpu->clock_least) < 0) {
		cpu->clock_least = difference;
	}
#ifdef BPF_JIFFIES64
	cpu->tick_offset = now - ticks_ns();
#endif
	cpu->clock_offset = (s64)(cpu->clock_former - cpu->clock_least) < 0 ? cpu->clock_former : cpu->clock_least;
}

/* The clock of this CPU's run queue; false: that was not found. se.cfs_rq is of the task's CPU whatever its class. */
static __always_inline bool read_queue_clock(u64 *clock, struct task_id *next, struct cpu_state *cpu, u32 cpu_id)
{
	u64 fair, queue;

#ifdef U64_TYPE
	/* A load costs no more by a known address, and the way there is three of them. */
	if (cpu->queue_at) {
		*clock = pointer_at(cpu->queue_at + RQ_CLOCK_OFFSET);
		return true;
	}
#endif
	fair = TASK_POINTER(next->task, TASK_CFS_RQ_OFFSET);
	queue = FIELD(u64, fair, CFS_RQ_RQ_OFFSET);
	*clock = FIELD(u64, queue, RQ_CLOCK_OFFSET);
	if (FIELD(u32, queue, RQ_CPU_OFFSET) != cpu_id)
		return false;
#ifdef U64_TYPE
	cpu->queue_at = queue;
#endif
	return true;
}

/*
 * A wakeup that preempts spares the switch after it the update of rq->clock (rq_clock_skip_update()): then it still shows
 * the time of the wakeup, which is when `next` was queued, and the other clock is read.
 */
static __always_inline void read_clocks(struct moment *at, struct task_id *next, struct cpu_state *cpu, u32 cpu_id)
{
	u64 queue_clock;
	bool own = read_queue_clock(&queue_clock, next, cpu, cpu_id);
	bool stale = queue_clock == FIELD(u64, next->task, TASK_LAST_QUEUED_OFFSET);

	if (own && !stale && queue_clock - cpu->clock_window < CLOCK_WINDOW_NS) {
		at->now = queue_clock + cpu->clock_offset;
	} else {
		at->now = bpf_ktime_get_ns();
		if (own)
			note_difference(cpu, queue_clock, at->now, stale);
		else
			queue_clock = at->now - cpu->clock_offset;
	}
	/* Windows that change must not make it run backwards. */
	if (at->now < cpu->slice_start_ns)
		at->now = cpu->slice_start_ns;
	at->queue_clock = queue_clock;
	at->late = at->now - cpu->clock_offset - queue_clock;
}

/* What the kernel has accounted for is known from here on. */
static __always_inline void note_account(struct task_id *id, struct task_slot *slot)
{
	slot->account_ns = FIELD(u64, id->task, TASK_RUN_DELAY_OFFSET);
}

/* The run delay of switches that were not seen, at its next switch out. */
static __always_inline u64 unseen_run_delay(struct task_id *id, struct task_slot *slot)
{
	u64 before = slot->account_ns;

	note_account(id, slot);
	return slot->account_ns - before;
}

/* When a task was switched in, of which only the switch out was seen. */
static __always_inline u64 unseen_arrival(struct task_id *id, struct task_slot *slot, struct cpu_state *cpu)
{
	return FIELD(u64, id->task, TASK_LAST_ARRIVAL_OFFSET) + cpu->clock_offset;
}

/*
 * What is measured at its end needs no beginning. This one is for tasks that still wait: by the timer tick, which costs
 * nothing to read, and up to two ticks late, so that no task has waited longer than it has.
 */
static __always_inline u64 time_of_wakeup(struct cpu_state *cpu)
{
#ifdef BPF_JIFFIES64
	if (cpu->tick_offset)
		return ticks_ns() + cpu->tick_offset + JIFFY_NS;
#endif
	return bpf_ktime_get_ns();
}

/*
 * Since 6.12 a sleeper that stays on its queue may be moved to another one, and counts as queued from then on, though it is
 * asleep (enqueue_task() in kernel/sched/core.c). What it slept is not waiting: its wait begins now. The microseconds of
 * one that has moved itself, until it is told so, stay in: run delay is the kernel's but for what somebody would notice.
 */
#define NOTED_SLEEP_NS 1000000ULL

static __always_inline void leave_out_sleep(struct task_id *id, struct task_slot *slot, struct cpu_state *cpu)
{
	u64 queued = FIELD(u64, id->task, TASK_LAST_QUEUED_OFFSET), now;

	if (!queued || !cpu->clock_window)
		return;
	now = bpf_ktime_get_ns() - cpu->clock_offset;
	if ((s64)(now - queued) >= (s64)NOTED_SLEEP_NS)
		slot->account_ns += now - queued;
}

/* On its way between two queues a task is in none: all that it has waited so far is accounted for. */
static __always_inline void note_move(struct task_id *id, struct task_slot *slot, u64 now)
{
	if (!(slot->flags & TASK_MOVED))
		slot->wait_start_ns = now - (FIELD(u64, id->task, TASK_RUN_DELAY_OFFSET) - slot->account_ns);
	slot->flags |= TASK_MOVED;
}

/*
 * Some waits are longer than the kernel's account of them, and go by when they began: of a task that has moved, because
 * blockers are looked for on either side of its time between two queues; of one that was preempted on its way to sleep,
 * which sched_info_depart() does not take for waiting.
 */
static __always_inline void measure_wait(struct wait *wait, struct task_id *id, struct task_slot *slot,
					 struct moment *at)
{
	u64 queued = FIELD(u64, id->task, TASK_LAST_QUEUED_OFFSET);
	u64 total = FIELD(u64, id->task, TASK_RUN_DELAY_OFFSET);

	if (queued)
		total += at->queue_clock - queued;
	wait->run_delay_ns = total - slot->account_ns;
	slot->account_ns = total;
	wait->ns = wait->run_delay_ns + at->late;
	if (slot->flags & TASK_MOVED ||
	    (!queued && (slot->wait_kind == WAIT_PREEMPTION || slot->wait_kind == WAIT_THROTTLED)))
		wait->ns = at->now - slot->wait_start_ns;
}

/* Does a wait tell at its end when it began, although that was not seen? */
static __always_inline bool tells_begin(struct wait *wait)
{
	return true;
}

#else

static __always_inline void read_clocks(struct moment *at, struct task_id *next, struct cpu_state *cpu, u32 cpu_id)
{
	at->now = bpf_ktime_get_ns();
}

static __always_inline void note_account(struct task_id *id, struct task_slot *slot)
{
}

static __always_inline u64 unseen_run_delay(struct task_id *id, struct task_slot *slot)
{
	return 0;
}

/* On a CPU that was idle it can only have run since it was woken; after another task nothing tells. */
static __always_inline u64 unseen_arrival(struct task_id *id, struct task_slot *slot, struct cpu_state *cpu)
{
	return cpu->current_tid ? 0 : slot->wait_start_ns;
}

static __always_inline u64 time_of_wakeup(struct cpu_state *cpu)
{
	return bpf_ktime_get_ns();
}

static __always_inline void leave_out_sleep(struct task_id *id, struct task_slot *slot, struct cpu_state *cpu)
{
}

static __always_inline void note_move(struct task_id *id, struct task_slot *slot, u64 now)
{
}

static __always_inline void measure_wait(struct wait *wait, struct task_id *id, struct task_slot *slot,
					 struct moment *at)
{
	wait->ns = slot->wait_start_ns ? at->now - slot->wait_start_ns : 0;
	wait->run_delay_ns = wait->ns;
}

static __always_inline bool tells_begin(struct wait *wait)
{
	return false;
}

#endif

#endif
