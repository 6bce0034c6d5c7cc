/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Capture: every switch, wakeup and migration of a short time, one event after the other. Each CPU has a ring of its
 * own within one mapped array, so a ring has one writer, and its events are in order. No event waits for user space:
 * what finds no room is counted, with the time of the first and the last of them. So is, without its time, what an
 * interrupt brings while an event is being written: sched_waking of the current task is handled with interrupts on.
 *
 * The array sizes are user space's: it makes the maps larger than they are here, so one compilation serves all hosts.
 */
#ifndef SCHEDTOP_CAPTURE_CAPTURE_H
#define SCHEDTOP_CAPTURE_CAPTURE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../woken_by.h"

#define NAMES_TOLD 1024 /* a power of two */

enum capture_kind {
	CAPTURE_SWITCH, /* tid left the CPU with prev_state, other_tid has it */
	CAPTURE_WAKING, /* other_tid (0: not a task) wakes tid */
	CAPTURE_WAKEUP_NEW, /* other_tid made tid */
	CAPTURE_MIGRATE, /* tid goes from cpu to other_cpu */
	CAPTURE_NAME, /* tid has this name, and is of the process other_tid (0: unknown) */
	CAPTURE_LOST, /* other_tid events, names and what follows not among them, were lost, from time_ns to last_ns */
	CAPTURE_STACK, /* tid was woken, and other_tid was current: a stack, path.h */
	CAPTURE_HELD, /* tid waited that long for a quota, path.h */
	CAPTURE_KINDS,
};

#define KIND_SHIFT 24 /* a tid is below 2^22 (PID_MAX_LIMIT) */
#define STATE_PREEMPTED (1U << 31)

/*
 * Half a cache line. What follows other_tid is the name of CAPTURE_NAME, the last time of CAPTURE_LOST, the number of a
 * stack with its bytes and side, and the nanoseconds of CAPTURE_HELD.
 */
struct capture_event {
	u64 time_ns;
	u32 kind_and_tid;
	u32 other_tid;
	u32 prev_state;
	s16 prio;
	s16 other_prio;
	u16 cpu; /* where a woken task was last, or a migrating one comes from */
	u16 other_cpu;
	u32 woken_by; /* of a switch: what path.h keeps of the task that leaves */
};

#define AFTER_OTHER_TID(event) ((u64 *)&(event)->prev_state)

/* Written by its CPU alone. */
struct capture_cpu {
	u64 head; /* events written so far */
	u64 pending; /* lost since the last event, without names */
	u64 first_lost_ns;
	u64 last_lost_ns;
	u64 lost[CAPTURE_KINDS];
	u64 busy; /* an event is being written */
	u64 interrupting; /* events that came meanwhile, and are lost */
	u64 queue_at; /* the address of its run queue, 0: not looked for yet */
	u64 stacks; /* taken so far, path.h */
	u64 stacks_refused; /* by the kernel: some have tasks of which it gives none */
	u64 regs_in_stack; /* registers.h */
	u64 look; /* capture_config.look when a task had it, path.h */
	u32 had_by; /* that task */
	s32 had_prio;
	u32 names_told[NAMES_TOLD]; /* name_key() of tasks with names in the ring, by the low bits of their tids */
};

/* Written by user space through its mapping; a line each. */
struct capture_reader {
	u64 tail; /* events taken so far */
	u64 reserved_line[7];
};

struct capture_config {
	u64 start_ns;
	u64 end_ns;
	u64 ring_events; /* of each CPU, a power of two */
	u64 least_sleep_ns; /* shorter ones have no stack, path.h */
	u64 any_held; /* written by path.h: a quota has held a task back */
	u64 look; /* goes up by one before each look at all tasks, path.h */
};

BPF_F_TABLE("array", u32, struct capture_event, events, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct capture_cpu, cpus, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct capture_reader, readers, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct capture_config, config, 1, BPF_F_MMAPABLE);

/* One CPU's ring while a tracepoint is handled. */
struct ring {
	struct capture_cpu *cpu;
	u64 now;
	u64 size;
	u64 tail;
	struct capture_config *settings;
	u32 cpu_id;
};

static __always_inline bool is_open(struct capture_config *settings, u64 now)
{
	return now >= settings->start_ns && now < settings->end_ns;
}

/* Whether the capture is on, and the ring ours until close_ring(). */
static __always_inline bool open_ring(struct ring *ring)
{
	u32 zero = 0;
	struct capture_config *settings = config.lookup(&zero);
	struct capture_reader *reader;

	ring->cpu_id = bpf_get_smp_processor_id();
	ring->cpu = cpus.lookup(&ring->cpu_id);
	reader = readers.lookup(&ring->cpu_id);
	if (!settings || !ring->cpu || !reader)
		return false;
	if (ring->cpu->busy) {
		if (is_open(settings, bpf_ktime_get_ns()))
			ring->cpu->interrupting++;
		return false;
	}
	ring->cpu->busy = 1;
	barrier();
	/* What interrupts us until here is in the ring before us, and so has the earlier time. */
	ring->now = bpf_ktime_get_ns();
	if (!is_open(settings, ring->now)) {
		ring->cpu->busy = 0;
		return false;
	}
	ring->size = settings->ring_events;
	ring->tail = reader->tail;
	ring->settings = settings;
	return true;
}

static __always_inline void close_ring(struct ring *ring)
{
	barrier();
	ring->cpu->busy = 0;
}

static __always_inline struct capture_event *event_at(struct ring *ring, u64 head)
{
	u32 index = ring->cpu_id * ring->size + (head & (ring->size - 1));

	return events.lookup(&index);
}

static __always_inline void count_lost(struct ring *ring, u32 kind)
{
	struct capture_cpu *cpu = ring->cpu;

	cpu->lost[kind]++;
	/* A name is no event of the scheduler: it is told again, and leaves no gap. Nor are stacks and quotas. */
	if (kind >= CAPTURE_NAME)
		return;
	if (!cpu->pending)
		cpu->first_lost_ns = ring->now;
	cpu->last_lost_ns = ring->now;
	cpu->pending++;
}

/* Room for one event, after what tells of those lost before it; to be handed over with commit(). */
static __always_inline struct capture_event *reserve(struct ring *ring, u32 kind, u32 tid)
{
	struct capture_cpu *cpu = ring->cpu;
	u64 head = cpu->head;
	struct capture_event *event;

	if (cpu->pending) {
		event = event_at(ring, head);
		if (head + 1 - ring->tail >= ring->size || !event) {
			count_lost(ring, kind);
			return NULL;
		}
		event->time_ns = cpu->first_lost_ns;
		event->kind_and_tid = CAPTURE_LOST << KIND_SHIFT;
		event->other_tid = cpu->pending;
		AFTER_OTHER_TID(event)[0] = cpu->last_lost_ns;
		cpu->pending = 0;
		cpu->head = ++head;
	}
	event = event_at(ring, head);
	if (head - ring->tail >= ring->size || !event) {
		count_lost(ring, kind);
		return NULL;
	}
	event->time_ns = ring->now;
	event->kind_and_tid = kind << KIND_SHIFT | tid;
	return event;
}

static __always_inline void commit(struct ring *ring)
{
	/* The event first: whoever reads `head` may read it. */
	barrier();
	ring->cpu->head++;
}

/* Stands for a task with its name; never 0. */
static __always_inline u32 name_key(u32 tid, u64 *comm)
{
	u64 mixed = (comm[0] ^ comm[1] * 0x9e3779b97f4a7c15ULL ^ tid) * 0xff51afd7ed558ccdULL;

	return mixed >> 32 | 1;
}

/* When a task is first seen to switch on this CPU, and when it has another name than the last time. */
static __always_inline void tell_name(struct ring *ring, u32 tid, u32 tgid, u64 *comm)
{
	u32 *told = &ring->cpu->names_told[tid & (NAMES_TOLD - 1)];
	u32 key = name_key(tid, comm);
	struct capture_event *event;

	if (!tid || *told == key)
		return;
	event = reserve(ring, CAPTURE_NAME, tid);
	if (!event)
		return;
	event->other_tid = tgid;
	AFTER_OTHER_TID(event)[0] = comm[0];
	AFTER_OTHER_TID(event)[1] = comm[1];
	*told = key;
	commit(ring);
}

static __always_inline void add_event(struct ring *ring, u32 kind, u32 tid, u32 other_tid, s32 prio, u32 cpu,
				      u32 other_cpu, u32 by)
{
	struct capture_event *event = reserve(ring, kind, tid);

	if (!event)
		return;
	event->other_tid = other_tid;
	event->prev_state = 0;
	event->prio = prio;
	event->other_prio = 0;
	event->cpu = cpu;
	event->other_cpu = other_cpu;
	event->woken_by = by;
	commit(ring);
}

/* Of a task that was last on `cpu`, or is to start there. */
static __always_inline void add_wakeup(struct ring *ring, u32 kind, u32 tid, s32 prio, u32 cpu)
{
	u64 *queue = &ring->cpu->queue_at;
	u32 by = woken_by(preempt_count_by(queue));

	add_event(ring, kind, tid, by == BY_TASK ? current_tid(*queue) : waker_tid(by), prio, cpu, 0, by);
}

static __always_inline void add_migration(struct ring *ring, u32 tid, s32 prio, u32 from_cpu, u32 to_cpu)
{
	add_event(ring, CAPTURE_MIGRATE, tid, bpf_get_current_pid_tgid(), prio, from_cpu, to_cpu, 0);
}

static __always_inline void add_switch(struct ring *ring, u32 prev, u32 next, u32 state, s32 prev_prio, s32 next_prio,
				       u32 left)
{
	struct capture_event *event = reserve(ring, CAPTURE_SWITCH, prev);

	if (!event)
		return;
	event->other_tid = next;
	event->prev_state = state;
	event->prio = prev_prio;
	event->other_prio = next_prio;
	event->cpu = ring->cpu_id;
	event->other_cpu = ring->cpu_id;
	event->woken_by = left;
	commit(ring);
}

#endif
