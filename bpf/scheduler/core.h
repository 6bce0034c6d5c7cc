/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What each scheduler event means for the counters. The front ends translate their kernel's events into these. */
#ifndef SCHEDTOP_SCHEDULER_CORE_H
#define SCHEDTOP_SCHEDULER_CORE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../histogram.h"
#include "../task_struct.h"
#include "../woken_by.h"
#include "blame.h"
#include "changes.h"
#include "maps.h"
#include "quota.h"
#include "tasks.h"
#include "timeline.h"
#include "waits.h"

static __always_inline struct cpu_state *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return cpus.lookup(&cpu);
}

/*
 * The first wait that ends in an epoch: what the CPU has counted so far is of the epochs before. Else a wait that ends
 * while user space reads would be in the pairs of one interval, and in the sums of another.
 */
static __always_inline void begin_epoch(struct cpu_state *cpu, u64 epoch)
{
	u32 cpu_id, parity = epoch & 1;
	struct cpu_state *cut;

	if (cpu->longest_epoch[parity] == epoch)
		return;
	cpu_id = bpf_get_smp_processor_id();
	cut = cuts.lookup(&cpu_id);
	if (cut && !bpf_probe_read_kernel(cut, sizeof(*cut), cpu)) {
		barrier();
		cpu->cut_epoch = epoch;
	}
	cpu->longest_epoch[parity] = epoch;
	cpu->longest_ns[parity * LATENCY_KINDS] = 0;
	cpu->longest_ns[parity * LATENCY_KINDS + 1] = 0;
	cpu->longest_ns[parity * LATENCY_KINDS + 2] = 0;
}

/* The longest wait of each interval: two places in turn, so that user space can read the last one in peace. */
static __always_inline void note_longest(struct cpu_state *cpu, struct task_slot *slot, u32 kind, u64 wait, u64 queued,
					 u64 epoch)
{
	u32 parity = epoch & 1;

	if (slot->longest_epoch[parity] != (u16)epoch || slot->longest_ns[parity] < wait) {
		slot->longest_epoch[parity] = epoch;
		slot->longest_ns[parity] = wait;
	}
	if (kind < LATENCY_KINDS && cpu->longest_ns[parity * LATENCY_KINDS + kind] < queued)
		cpu->longest_ns[parity * LATENCY_KINDS + kind] = queued;
}

static __always_inline void end_wait(struct cpu_state *cpu, struct task_slot *slot, struct switch_event *event,
				     struct wait *ended, u64 now)
{
	u64 wait = ended->ns, queued = wait - ended->throttled_ns;
	u32 kind = slot->wait_kind;
	u32 zero = 0, bucket = 0;
	struct config *settings = config.lookup(&zero);
	u64 epoch;

	slot->wait_start_ns = 0;
	if (!is_selected(slot) || !settings)
		return;
	if ((s64)wait < 0) {
		cpu->negative_waits++;
		return;
	}
	/* Read once: the parts of a wait are of one interval. */
	epoch = *(volatile u64 *)&settings->epoch;
	begin_epoch(cpu, epoch);
	/* Once its quota is back, a throttled task waits like one that was preempted. */
	if (kind == WAIT_THROTTLED && queued)
		kind = WAIT_PREEMPTION;
	/* The kernel's account includes what the quota took, but no CPU would have ended that. */
	if (kind < LATENCY_KINDS) {
		if (ended->run_delay_ns > ended->throttled_ns)
			slot->run_delay_ns += ended->run_delay_ns - ended->throttled_ns;
		cpu->wait_sum_ns[kind] += queued;
		bucket = latency_bucket(queued);
		if (settings->grouping)
			count_in_group(slot, settings->grouping, kind, bucket, queued);
		bucket += kind * LATENCY_BUCKETS;
		if (bucket < LATENCY_KINDS * LATENCY_BUCKETS)
			cpu->latency[bucket]++;
	}
	note_longest(cpu, slot, kind, wait, queued, epoch);
	if (wait >= LOOK_NS || wait >= settings->threshold_ns)
		look_for_blame(cpu, slot, event, settings, ended, epoch, now);
}

/*
 * The slice of a task that was not seen to be switched in (or before our time). What was seen to come before it has left
 * unseen: idle, whose time is known then, or another task, whose time the kernel's accounting tells when it comes again.
 */
static __always_inline u64 unseen_slice(struct cpu_state *cpu, struct timeline *timeline, struct task_slot *slot,
					struct task_id *id, u64 now)
{
	u64 came = unseen_arrival(id, slot, cpu);

	slot->wait_start_ns = 0;
	if (!cpu->slice_start_ns || came < cpu->slice_start_ns || came > now)
		return 0;
	if (cpu->current_tid)
		return now - came;
	cpu->idle_ns += came - cpu->slice_start_ns;
	if (came - cpu->slice_start_ns >= IDLE_PERIOD_NS)
		add_idle_period(timeline, cpu->slice_start_ns, came);
	return now - came;
}

/* The entry of the short-lived tasks like this one; NULL if there is no room. */
static __always_inline struct short_lived *short_lived_entry(struct task_slot *slot, u64 epoch)
{
	struct short_lived_key key = {};
	struct short_lived *entry, *empty;
	u32 zero = 0;

	__builtin_memcpy(key.comm, slot->comm, COMM_BYTES);
	__builtin_memcpy(key.parent_comm, slot->parent_comm, COMM_BYTES);
	key.cgroup_id = slot->cgroup_id;
	key.pid_namespace = slot->pid_namespace;
	key.epoch = epoch;
	key.is_thread = slot->tid != slot->tgid;
	/* What a thread returns is between it and its process. */
	key.exit_code = key.is_thread ? EXIT_UNKNOWN : slot->exit_code;
	entry = short_lived.lookup(&key);
	if (entry)
		return entry;
	empty = no_short_lived.lookup(&zero);
	if (!empty)
		return NULL;
	/* Another CPU may have been faster: then this changes nothing. */
	short_lived.insert(&key, empty);
	entry = short_lived.lookup(&key);
	if (entry) {
		__builtin_memcpy(entry->comm, key.comm, COMM_BYTES);
		__builtin_memcpy(entry->parent_comm, key.parent_comm, COMM_BYTES);
		entry->cgroup_id = key.cgroup_id;
		entry->exit_code = key.exit_code;
		entry->pid_namespace = key.pid_namespace;
		entry->is_thread = key.is_thread;
		entry->parent_tgid = slot->parent_tgid;
		entry->epoch = key.epoch;
	}
	return entry;
}

/* A task was switched out for the last time: all its counts are final. */
static __always_inline void end_task(struct cpu_state *cpu, struct task_slot *slot, u64 now)
{
	u32 zero = 0;
	struct config *settings = config.lookup(&zero);
	u64 lived = now - slot->start_ns;
	struct short_lived *entry;
	u64 longest;

	/* When a task started that the tracepoint front end has not seen start, is not known. */
	if (!settings || !slot->start_ns || lived > settings->interval_ns || !is_selected(slot))
		return;
	if (slot->tid == slot->tgid && slot->exit_code == EXIT_REPLACED)
		return;
	cpu->short_lived++;
	entry = short_lived_entry(slot, settings->epoch);
	if (!entry) {
		cpu->short_lived_dropped++;
		return;
	}
	if (entry->parent_tgid != slot->parent_tgid)
		entry->several_parents = 1;
	longest = slot->longest_ns[0] < slot->longest_ns[1] ? slot->longest_ns[1] : slot->longest_ns[0];
	if (entry->max_wait_ns < longest)
		entry->max_wait_ns = longest;
	__sync_fetch_and_add(&entry->count, 1);
	__sync_fetch_and_add(&entry->run_ns, slot->run_ns);
	__sync_fetch_and_add(&entry->run_delay_ns, slot->run_delay_ns);
	__sync_fetch_and_add(&entry->lived_ns, lived);
	__sync_fetch_and_add(&entry->switches, slot->voluntary + slot->involuntary);
}

/*
 * Each switch is the arrival of one task, which the kernel counts (pcount), or of idle, which it does not: then, and where
 * there is no such count, on_switch() sees that another task leaves than came.
 */
#ifdef TASK_PCOUNT_OFFSET
#define ARRIVALS_ARE_COUNTED 1
#else
#define ARRIVALS_ARE_COUNTED 0
#endif

static __always_inline void count_unseen_switches(struct cpu_state *cpu, u32 count)
{
	cpu->switches_unseen += count;
	cpu->switches += count;
}

static __always_inline void count_unseen_arrivals(struct cpu_state *cpu, struct task_slot *slot, u32 count)
{
	slot->timeslices += count;
	if (ARRIVALS_ARE_COUNTED)
		count_unseen_switches(cpu, count);
}

/* No task has this tid any more. */
static __always_inline void end_tid(u32 tid)
{
	struct task_slot *slot = known_slot(tid);

	if (slot) {
		slot->exit_epoch = current_epoch();
		slot->flags = TASK_EXITED;
	}
}

/*
 * The slot of a leader is that of the thread which replaces it and runs: its own timeslices count from here on, with the one
 * that runs if its arrival was not seen. `thread`: the slot that it had until now, with what was known of it, or NULL.
 */
static __always_inline void replace_leader(struct task_slot *slot, struct task_id *id, bool arrival_seen,
					   struct task_slot *thread)
{
	if (thread) {
		slot->pcount = thread->pcount;
		slot->account_ns = thread->account_ns;
		slot->exec_ns = thread->exec_ns;
	} else {
		new_timeslices(id, slot, 0);
		new_run_time(id, slot);
		note_account(id, slot);
		slot->pcount -= !arrival_seen;
	}
	slot->wait_start_ns = 0;
	slot->flags &= TASK_SELECTED | TASK_IN_CGROUP;
	if (arrival_seen)
		slot->flags |= TASK_RUNNING_NOW;
}

static __always_inline void switch_out(struct cpu_state *cpu, struct timeline *timeline, struct switch_event *event,
				       u64 slice, u32 cpu_id, u64 now)
{
	struct task_slot *slot = task_slot(&event->prev, cpu);
	u32 timeslices;
	u64 run_ns;
	u8 flags;

	if (cpu->facts.involuntary)
		cpu->involuntary++;
	else
		cpu->voluntary++;
	if (!slot)
		return;
	/* In one place, and not where a task comes: the programs stay short, and every task leaves or is woken. */
	if (note_change(slot) || slice >= LOOK_NS)
		task_class(&event->prev, slot);
	if (cpu->facts.tid_change == TID_OF_THREAD) {
		slot->run_ns += slice;
		return;
	}
	/* If its arrival was not seen, then neither that its tid is another one: but the leader's last switch was. */
	if (cpu->facts.tid_change == TID_OF_LEADER)
		replace_leader(slot, &event->prev, true, NULL);
	else if (!cpu->facts.dead && (slot->flags & (TASK_EXITED | TASK_RUNNING_NOW)) == TASK_EXITED)
		replace_leader(slot, &event->prev, false, NULL);
	task_name(&event->prev, slot->comm);
	task_cgroup(&event->prev, slot);
	flags = slot->flags;
	run_ns = new_run_time(&event->prev, slot);
	timeslices = new_timeslices(&event->prev, slot, 0);
	if (!(flags & TASK_RUNNING_NOW) || !cpu->facts.seen || (ARRIVALS_ARE_COUNTED && timeslices)) {
		bool has_waited = slot->timeslices || slot->wait_start_ns;

		slice = unseen_slice(cpu, timeline, slot, &event->prev, now);
		/* By the kernel's accounting earlier slices are in it that were not seen either, and no time of the hypervisor. */
		slice = slice < run_ns ? run_ns : slice;
		/* Seen for the first time, and not at its fork, it can have run since before our time. */
		cpu->waits_unseen += has_waited ? timeslices : 0;
		count_unseen_arrivals(cpu, slot, timeslices);
		slot->run_delay_ns += is_selected(slot) ? unseen_run_delay(&event->prev, slot) : 0;
	}
	flags &= ~(TASK_RUNNING_NOW | TASK_YIELDED | TASK_MOVED | TASK_OVER_RUNTIME);
	slot->run_ns += slice;
	slot->last_cpu = cpu_id;
	if (!slot->tgid)
		slot->tgid = task_tgid(&event->prev);
	flags = selected_flags(slot, flags);
	if (cpu->facts.involuntary) {
		slot->involuntary++;
		slot->wait_start_ns = cpu->facts.pauses ? 0 : now;
		slot->wait_kind = cpu->facts.throttled ? WAIT_THROTTLED : WAIT_PREEMPTION;
		slot->waker_or_preemptor_tid = cpu->facts.yielded || cpu->facts.throttled ? 0 : event->next.tid;
		slot->enqueue_cpu = slot->queue_cpu = cpu_id;
		note_quota(&event->prev, slot);
		if (cpu->facts.yielded)
			flags |= TASK_YIELDED;
		if (cpu->facts.over_runtime)
			flags |= TASK_OVER_RUNTIME;
	} else {
		slot->voluntary++;
		/* Woken while on its way out: it waits from now on. */
		if (slot->wait_start_ns) {
			slot->wait_start_ns = now;
			note_quota(&event->prev, slot);
		}
		if (cpu->facts.dead) {
			slot->wait_start_ns = 0;
			flags |= TASK_EXITED;
		}
	}
	slot->flags = flags;
	/* The last time that it was here, for is_reclaimable(). */
	if (flags & (TASK_EXITING | TASK_EXITED))
		slot->exit_epoch = current_epoch();
	if (cpu->facts.dead)
		end_task(cpu, slot, now);
}

static __always_inline void switch_in(struct cpu_state *cpu, struct switch_event *event, u32 cpu_id, struct moment *at)
{
	struct task_slot *slot = task_slot(&event->next, cpu);
	struct wait wait;
	u32 timeslices;
	bool paused;

	if (!slot)
		return;
	note_change(slot);
	slot->last_cpu = cpu_id;
	paused = (slot->flags & (TASK_YIELDED | TASK_RUNNING_NOW)) == TASK_YIELDED && !slot->wait_start_ns;
	timeslices = new_timeslices(&event->next, slot, 1);
	slot->timeslices++;
	if (timeslices > 1 || slot->flags & TASK_RUNNING_NOW)
		slot->run_ns += new_run_time(&event->next, slot);
	if (timeslices > 1) {
		/* It came and went unseen in between, and so did its wait. */
		count_unseen_arrivals(cpu, slot, timeslices - 1);
		slot->wait_start_ns = 0;
	}
	if (!slot->wait_start_ns)
		slot->wait_kind = WAIT_WAKEUP; /* not that of an earlier one */
	measure_wait(&wait, &event->next, slot, at);
	wait.throttled_ns = slot->wait_start_ns ? throttled_part(&event->next, slot, wait.ns, at->now) : 0;
	restore_kind(slot);
	slot->flags = (slot->flags & ~TASK_MOVED) | TASK_RUNNING_NOW;
	/* Woken on its way out, when sched_waking still found it queued. */
	if (!slot->wait_start_ns && !paused && timeslices == 1 && slot->timeslices > 1 && tells_begin(&wait)) {
		slot->waker_or_preemptor_tid = 0;
		slot->enqueue_cpu = slot->queue_cpu = cpu_id;
		slot->wait_start_ns = at->now - wait.ns;
	}
	if (slot->wait_start_ns) {
		/* A reader looks again when it sees an odd number, or another one after it has read. */
		cpu->wait_ends++;
		barrier();
		end_wait(cpu, slot, event, &wait, at->now);
		barrier();
		cpu->wait_ends++;
	} else if (slot->timeslices > timeslices && !(paused && timeslices == 1)) {
		cpu->waits_unseen += timeslices;
		slot->run_delay_ns += is_selected(slot) ? wait.run_delay_ns : 0;
	}
}

/* An exec by a thread changes its tid long before sched_process_exec: its slice goes on under the other one. */
static __always_inline enum tid_change note_tid_change(struct cpu_state *cpu, struct switch_event *event)
{
	enum tid_change change;

	if (cpu->current_tid == event->prev.tid || !cpu->current_tid || !event->prev.tid)
		return TID_KEPT;
	change = tid_change(&event->prev, cpu);
	if (change == TID_OF_LEADER) {
		end_tid(cpu->current_tid);
		cpu->current_tid = event->prev.tid;
	} else if (change == TID_OF_THREAD) {
		event->prev.tid = cpu->current_tid;
	}
	return change;
}

/* `facts`: what the front end knows of it. */
static __always_inline void on_switch(struct switch_event *event, struct switch_facts facts)
{
	u32 cpu_id = bpf_get_smp_processor_id();
	struct cpu_state *cpu = cpus.lookup(&cpu_id);
	struct timeline *timeline = timeline_of(cpu_id);
	struct moment at;
	u64 slice, now;

	if (!cpu || !timeline)
		return;
	read_clocks(&at, &event->next, cpu, cpu_id);
	now = at.now;
	slice = cpu->slice_start_ns ? now - cpu->slice_start_ns : 0;
	facts.tid_change = note_tid_change(cpu, event);
	/* Some kernels keep switches from the tracepoint (docs/kernels.md). */
	facts.seen = cpu->current_tid == event->prev.tid;
	cpu->facts = facts;
	barrier();
	add_slice(cpu, timeline, event->prev.tid, slice, cpu->facts.seen, now);
	if (now >= cpu->steal_due_ns)
		mark_steal(cpu, timeline, &event->next, now);
	if (!cpu->facts.seen) {
		if (slice && !(ARRIVALS_ARE_COUNTED && event->prev.tid))
			count_unseen_switches(cpu, 1);
		slice = 0;
	}
	cpu->switches++;
	if (event->prev.tid)
		switch_out(cpu, timeline, event, slice, cpu_id, now);
	else
		cpu->idle_ns += slice;
	cpu->slice_start_ns = now;
	cpu->current_tid = event->next.tid;
	cpu->current_task = event->next.task;
	if (event->next.tid)
		switch_in(cpu, event, cpu_id, &at);
}

/*
 * The interrupt that this CPU handles, above WAKER_SOURCE_SHIFT and with one added; 0: not known. Below it what raised
 * a softirq, if that is known and `tid`, the current task, is not one that wakes; else the tid.
 */
static __always_inline u32 waking_interrupt(u32 by, u32 tid)
{
	u32 cpu = bpf_get_smp_processor_id(), source;
	struct interrupting *now = interrupting.lookup(&cpu);

	if (by == BY_INTERRUPT)
		tid = 0;
	if (!now)
		return tid;
	source = by == BY_INTERRUPT ? now->hard : now->soft;
	if (source >> (WOKEN_BY_SHIFT - WAKER_SOURCE_SHIFT))
		return tid;
	if (by == BY_SOFTIRQ && source && source < RAISED_BY_TASK && now->raiser && !waker_tid(by)) {
		source |= now->raiser >> SOURCE_SHIFT ? RAISED_BY_INTERRUPT : RAISED_BY_TASK;
		tid = now->raiser >> SOURCE_SHIFT ? now->raiser >> SOURCE_SHIFT : now->raiser;
	}
	return source << WAKER_SOURCE_SHIFT | tid;
}

/* The current task, with what else it may be that wakes: then the task was interrupted, and has nothing to do with it. */
static __always_inline u32 waker(struct cpu_state *cpu)
{
	u32 by = woken_by(preempt_count_by(&cpu->queue_at));
	u32 tid = current_tid(cpu->queue_at);

	if (by == BY_TASK)
		return tid;
	return by << WOKEN_BY_SHIFT | waking_interrupt(by, tid);
}

static __always_inline void begin_wakeup_wait(struct task_id *id, struct task_slot *slot, struct cpu_state *cpu,
					      u8 kind)
{
	if (note_change(slot))
		task_class(id, slot);
	slot->wait_kind = kind;
	slot->waker_or_preemptor_tid = waker(cpu);
	slot->enqueue_cpu = slot->queue_cpu = wakeup_cpu(id, slot);
	slot->wait_start_ns = time_of_wakeup(cpu);
	if (kind == WAIT_WAKEUP)
		leave_out_sleep(id, slot, cpu);
	note_quota(id, slot);
}

static __always_inline void count_wakeup(struct task_id *id, bool is_new)
{
	struct cpu_state *cpu = this_cpu();
	struct task_slot *slot;

	if (!cpu)
		return;
	cpu->wakeups++;
	slot = task_slot(id, cpu);
	/* A task that was just forked is queued already, and waits since then. */
	if (slot && !slot->wait_start_ns && (is_new || !is_queued(id, slot)))
		begin_wakeup_wait(id, slot, cpu, is_new ? WAIT_FORK : WAIT_WAKEUP);
}

static __always_inline void on_waking(struct task_id *id)
{
	count_wakeup(id, false);
}

static __always_inline void on_waking_new(struct task_id *id)
{
	count_wakeup(id, true);
}

/*
 * A task that is woken on its way out still looks queued at sched_waking. At sched_wakeup it is queued for sure, and one
 * that has left the CPU of its own accord did not wait before. By account such a wait is found at its end.
 */
static __always_inline void on_wakeup(struct task_id *id)
{
	struct cpu_state *cpu = this_cpu();
	struct task_slot *slot = cpu ? task_slot(id, cpu) : NULL;

	if (slot && !slot->wait_start_ns && slot->voluntary && !(slot->flags & TASK_RUNNING_NOW))
		begin_wakeup_wait(id, slot, cpu, WAIT_WAKEUP);
}

static __always_inline void on_migrate(struct task_id *id, u32 from_cpu, u32 to_cpu)
{
	struct cpu_state *cpu = this_cpu();
	struct cpu_state *from = cpu_by_id(from_cpu);
	struct cpu_state *to = cpu_by_id(to_cpu);
	struct domain *near = domains.lookup(&from_cpu);
	struct domain *far = domains.lookup(&to_cpu);
	bool other_cache, other_node;
	struct task_slot *slot;
	u64 throttled, now;

	if (!cpu || !from || !to || !near || !far)
		return;
	other_node = near->node != far->node;
	other_cache = other_node || near->cache != far->cache;
	__sync_fetch_and_add(&from->migrations_out, 1);
	__sync_fetch_and_add(&to->migrations_in, 1);
	if (other_cache)
		__sync_fetch_and_add(&to->cache_migrations, 1);
	if (other_node)
		__sync_fetch_and_add(&to->numa_migrations, 1);
	slot = task_slot(id, cpu);
	if (!slot)
		return;
	slot->migrations++;
	slot->cache_migrations += other_cache;
	slot->numa_migrations += other_node;
	/* The move of a task that is being woken is the choice of its queue. */
	if (is_being_woken(id, slot)) {
		slot->enqueue_cpu = to_cpu;
		if (slot->wait_start_ns)
			move_quota(id, slot, to_cpu, 0, 0);
	} else if (slot->wait_start_ns) {
		now = bpf_ktime_get_ns();
		throttled = throttled_so_far(id, slot, now);
		note_move(id, slot, now);
		move_quota(id, slot, to_cpu, throttled, now);
		if (now - slot->wait_start_ns >= LOOK_NS && slot->wait_kind < LATENCY_KINDS)
			keep_blockers(slot, now);
		slot->moved_ns = now;
		if (slot->left_ns <= slot->wait_start_ns)
			slot->left_ns = now;
	}
	slot->queue_cpu = to_cpu;
}

static __always_inline void on_exit(struct task_id *id)
{
	struct cpu_state *cpu = this_cpu();
	struct task_slot *slot = cpu ? task_slot(id, cpu) : NULL;

	if (!slot)
		return;
	slot->exit_code = task_exit_code(id);
	slot->exit_epoch = current_epoch();
	slot->flags |= TASK_EXITING;
}

/* An exec by a thread gives it the tid of its leader: no task has the old one any more, and the leader's lives on. */
static __always_inline void on_exec(struct task_id *id, u32 old_tid)
{
	struct cpu_state *cpu = this_cpu();
	struct task_slot *slot, *thread;

	if (!cpu)
		return;
#ifdef FILTERED
	slot = task_slot(id, cpu);
	if (slot) {
		task_name(id, slot->comm);
		slot->flags = selected_flags(slot, slot->flags);
	}
#endif
	if (id->tid == old_tid)
		return;
	/* It still runs: its slice goes on under the other tid. */
	if (cpu->current_tid == old_tid)
		cpu->current_tid = id->tid;
	thread = known_slot(old_tid);
	if (thread && thread->flags & (TASK_EXITING | TASK_EXITED))
		thread = NULL;
	end_tid(old_tid);
	slot = task_slot(id, cpu);
	/* At a switch in the middle of the exec that was done already. */
	if (slot && !(slot->flags & (TASK_EXITING | TASK_EXITED)))
		thread = NULL;
	if (slot)
		replace_leader(slot, id, cpu->current_tid == id->tid, thread);
}

#endif
