/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The blame for a wait: its blockers, the pairs of victim and blocker or preemptor, and the event of a slow one. */
#ifndef SCHEDTOP_SCHEDULER_BLAME_H
#define SCHEDTOP_SCHEDULER_BLAME_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../woken_by.h"
#include "bound.h"
#include "changes.h"
#include "maps.h"
#include "queue.h"
#include "tasks.h"
#include "timeline.h"
#include "waits.h"

/* Each front end: what a deadline task was granted, and whether its deadline is past. */
static __always_inline void describe_deadline(struct slow_wait *event, struct task_id *id, struct cpu_state *cpu);

/* Is it of the class of sched_ext? Each front end says so. */
static __always_inline bool is_in_sched_ext(struct task_id *id, struct config *settings);

static __always_inline struct cpu_state *cpu_by_id(u32 cpu)
{
	return cpus.lookup(&cpu);
}

/* At most `most` times in each window. */
static __always_inline bool within_budget(u64 *window, u64 *used, u64 most, u64 now)
{
	u64 current = now >> SLOW_WINDOW_SHIFT;

	if (*window != current) {
		*window = current;
		*used = 0;
	}
	return (*used)++ < most;
}

/* The pair's place for this interval; NULL if there is no room. */
static __always_inline struct pair *pair_of(u32 victim, u32 other, u64 epoch)
{
	struct pair_key key = { .victim_tid = victim, .other_tid = other };
	struct pair *pair = pairs.lookup(&key);
	u32 parity = epoch & 1;

	if (!pair) {
		struct pair fresh = { .victim_tid = victim, .other_tid = other };

		pairs.update(&key, &fresh);
		pair = pairs.lookup(&key);
		if (!pair)
			return NULL;
	}
	if (pair->epoch[parity] != (u32)epoch) {
		pair->epoch[parity] = epoch;
		pair->preemptions[parity] = pair->waits[parity] = 0;
		pair->preempted_ns[parity] = pair->blocked_ns[parity] = pair->longest_ns[parity] = 0;
		note_pair(&key, epoch);
	}
	return pair;
}

static __always_inline void blame_pairs(struct cpu_state *cpu, struct slow_wait *event, u64 epoch)
{
	u32 parity = epoch & 1;
	struct pair *pair;

#pragma clang loop unroll(disable)
	for (u32 place = 0; place < BLOCKERS_SEEN; place++) {
		if (!event->blocker_tid[place])
			break;
		pair = pair_of(event->tid, event->blocker_tid[place], epoch);
		if (pair) {
			pair->waits[parity]++;
			pair->blocked_ns[parity] += event->blocker_ns[place];
			if (pair->longest_ns[parity] < event->blocker_ns[place])
				pair->longest_ns[parity] = event->blocker_ns[place];
		} else {
			cpu->unpaired_ns += event->blocker_ns[place];
		}
	}
	if (!event->preemptor_tid)
		return;
	pair = pair_of(event->tid, event->preemptor_tid, epoch);
	if (pair) {
		pair->preemptions[parity]++;
		pair->preempted_ns[parity] += event->wait_ns;
	}
}

/* `waker`: waker_or_preemptor_tid of a task that was woken. */
static __always_inline void describe_waker(struct slow_wait *event, u32 waker)
{
	event->waker_tid = waker & ((1U << WAKER_SOURCE_SHIFT) - 1);
	event->woken_by = waker >> WOKEN_BY_SHIFT;
	event->waker_source = waker >> WAKER_SOURCE_SHIFT & ((1U << (WOKEN_BY_SHIFT - WAKER_SOURCE_SHIFT)) - 1);
	if (event->woken_by != BY_SOFTIRQ || !(event->waker_source & (RAISED_BY_TASK | RAISED_BY_INTERRUPT)))
		return;
	event->waker_raiser = event->waker_tid;
	if (event->waker_source & RAISED_BY_INTERRUPT)
		event->waker_raiser <<= SOURCE_SHIFT;
	event->waker_source &= RAISED_BY_TASK - 1;
	event->waker_tid = 0;
}

/* All that is asked of the slot and of the task before, so that the rest depends on little but the event. */
static __always_inline void describe_wait(struct slow_wait *event, struct task_slot *slot, struct task_id *previous,
					  struct wait *ended, u64 now)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->end_ns = now;
	event->wait_ns = ended->ns;
	event->throttled_ns = ended->throttled_ns;
	event->tid = slot->tid;
	event->tgid = slot->tgid;
	event->kind = slot->wait_kind;
	event->cpu = slot->last_cpu;
	event->enqueue_cpu = slot->enqueue_cpu;
	event->yielded = !!(slot->flags & TASK_YIELDED);
	event->pid_namespace = slot->pid_namespace;
	event->cgroup_id = slot->cgroup_id;
	__builtin_memcpy(event->comm, slot->comm, COMM_BYTES);
	if (slot->wait_kind == WAIT_WAKEUP || slot->wait_kind == WAIT_FORK) {
		describe_waker(event, slot->waker_or_preemptor_tid);
	} else {
		event->preemptor_tid = slot->waker_or_preemptor_tid;
	}
	event->previous_tid = previous->tid;
	if (previous->tid)
		task_name(previous, event->previous_comm);
	event->enqueued_ns = now - (ended->ns - ended->throttled_ns);
	if (slot->left_ns > event->enqueued_ns)
		event->enqueued_ns = slot->moved_ns;
}

/* Only here, and so for long waits alone, is the victim asked anew. */
static __always_inline void describe_class(struct slow_wait *event, struct task_slot *slot, struct task_id *victim)
{
	task_class(victim, slot);
	event->sched_class = slot->sched_class;
	event->policy = slot->policy;
	event->priority = slot->priority;
	event->nice = slot->nice;
	event->over_runtime = !!(slot->flags & TASK_OVER_RUNTIME);
}

/* What had the CPU that the wait ends on. If it has moved, what is known of the CPUs before is in `moved_waits`. */
static __always_inline void find_blockers(struct cpu_state *cpu, struct slow_wait *event)
{
	struct timeline *timeline = timeline_of(event->cpu);
	u64 start = event->end_ns - (event->wait_ns - event->throttled_ns);
	struct slow_wait *before;

	if (event->enqueued_ns > start) {
		before = moved_waits.lookup(&event->tid);
		if (before && before->end_ns > start) {
			event->covered_ns = before->covered_ns;
			event->cpu_idle_ns = before->cpu_idle_ns;
			event->others_ns = before->others_ns;
			event->switches = before->switches;
			__builtin_memcpy(event->blocker_ns, before->blocker_ns, sizeof(event->blocker_ns));
			__builtin_memcpy(event->blocker_tid, before->blocker_tid, sizeof(event->blocker_tid));
		}
	}
	asm volatile("" ::: "memory");
	if (timeline)
		add_blockers(event, cpu, timeline, 0, event->enqueued_ns, event->end_ns);
}

/* The task leaves a run queue that it has waited on: keeps what had that CPU meanwhile. Its lock is held. */
static __always_inline void keep_blockers(struct task_slot *slot, u64 now)
{
	u64 since = slot->left_ns > slot->wait_start_ns ? slot->moved_ns : slot->wait_start_ns;
	struct timeline *timeline = timeline_of(slot->queue_cpu);
	struct cpu_state *cpu = cpu_by_id(slot->queue_cpu);
	struct slow_wait *event = moved_waits.lookup(&slot->tid);
	u32 zero = 0;

	if (!event || event->end_ns <= slot->wait_start_ns) {
		struct slow_wait *empty = no_wait.lookup(&zero);

		if (!empty)
			return;
		moved_waits.update(&slot->tid, empty);
		event = moved_waits.lookup(&slot->tid);
	}
	if (!event || !timeline || !cpu || now < since)
		return;
	event->end_ns = now;
	add_blockers(event, cpu, timeline, cpu->current_tid, since, now);
}

static __always_inline void report_slow_wait(struct cpu_state *cpu, struct slow_wait *event, struct task_id *victim)
{
	struct timeline *timeline = timeline_of(event->cpu);

	event->allowed_cpus = allowed_cpus(victim);
	if (event->sched_class == CLASS_DEADLINE)
		describe_deadline(event, victim, cpu);
	event->bonds = bonds_of(event->tid);
	/* The victim is still counted by the kernel, and is the one that runs now. */
	event->queue_known = !event->sched_ext && queue_lengths(event->queue_length, 1);
	if (timeline && !event->sched_ext)
		event->stolen_ns = stolen_since(timeline, victim, event->enqueued_ns);
	name_of(event->waker_tid, event->waker_comm);
	name_of(event->preemptor_tid, event->preemptor_comm);
	/* No wakeup of the reader: it comes by itself, and must not be one more task to switch to. */
	if (slow_waits.ringbuf_output(event, sizeof(*event), BPF_RB_NO_WAKEUP))
		cpu->ring_dropped++;
}

/*
 * Before its quota came back a throttled task was on no run queue: nothing blocked it. What had its last CPU did not block
 * a task either that a sched_ext scheduler had in a queue of its own.
 */
static __always_inline void blame(struct cpu_state *cpu, struct slow_wait *event)
{
	u64 queued = event->wait_ns - event->throttled_ns;

	if (!queued)
		return;
	if (!event->sched_ext)
		find_blockers(cpu, event);
	cpu->looks_in_window += event->switches >> SLICES_A_LOOK_SHIFT;
	cpu->looked_at_ns += queued;
	cpu->uncovered_ns += queued - event->covered_ns;
	cpu->blocked_idle_ns += event->cpu_idle_ns;
	cpu->others_ns += event->others_ns;
	blame_pairs(cpu, event, event->epoch);
}

/*
 * For a wait that is slow, or long enough to ask what had the CPU. What is decided goes through the event's memory:
 * else the verifier follows the walk anew for each way to come here.
 */
static __always_inline void look_for_blame(struct cpu_state *cpu, struct task_slot *slot, struct switch_event *change,
					   struct config *settings, struct wait *ended, u64 epoch, u64 now)
{
	bool reported = ended->ns >= settings->threshold_ns;
	u32 cpu_id = slot->last_cpu;
	struct slow_wait *event = scratch.lookup(&cpu_id);

	if (!event)
		return;
	if (reported && !within_budget(&cpu->slow_window, &cpu->slow_in_window, SLOW_WAITS_PER_WINDOW, now)) {
		cpu->slow_suppressed++;
		reported = false;
	}
	if (!reported && !within_budget(&cpu->look_window, &cpu->looks_in_window, LOOKS_PER_WINDOW, now)) {
		cpu->over_budget_ns += ended->ns - ended->throttled_ns;
		return;
	}
	describe_wait(event, slot, &change->prev, ended, now);
	describe_class(event, slot, &change->next);
	event->reported = reported;
	event->epoch = epoch;
	event->sched_ext = is_in_sched_ext(&change->next, settings);
	asm volatile("" ::: "memory");
	blame(cpu, event);
	if (event->reported)
		report_slow_wait(cpu, event, &change->next);
}

static __always_inline void count_in_group(struct task_slot *slot, u64 grouping, u32 kind, u32 bucket, u64 wait)
{
	struct group_key key = { .grouping = grouping, .kind = kind };
	struct group_latency *group;
	u32 zero = 0;

	if (grouping == GROUP_TID)
		key.id = slot->tid;
	else if (grouping == GROUP_TGID)
		key.id = slot->tgid;
	else if (grouping == GROUP_CGROUP)
		key.id = slot->cgroup_id;
	else
		key.id = slot->pid_namespace;
	group = groups.lookup(&key);
	if (!group) {
		struct group_latency *empty = no_latency.lookup(&zero);

		if (!empty)
			return;
		groups.insert(&key, empty); /* fails if another CPU was first: its counts stay */
		group = groups.lookup(&key);
		if (!group)
			return;
		group->id = key.id;
		group->grouping = grouping;
		group->kind = kind;
	}
	__sync_fetch_and_add(&group->wait_sum_ns, wait);
	if (bucket < LATENCY_BUCKETS)
		__sync_fetch_and_add(&group->latency[bucket], 1);
}

#endif
