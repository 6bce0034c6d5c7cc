/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The recent past of each CPU: what ran when, when it was idle, what the hypervisor had taken. A switch adds one word;
 * it is looked at for long waits only.
 */
#ifndef SCHEDTOP_SCHEDULER_TIMELINE_H
#define SCHEDTOP_SCHEDULER_TIMELINE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../branchless.h"
#include "maps.h"
#include "tasks.h"

#ifdef ITER_NUM_NEXT
/*
 * struct bpf_iter_num of include/uapi/linux/bpf.h, since 6.4, by a name of ours: bcc's own headers have it from some release
 * on. The verifier follows a step of such a loop twice, not all of them.
 */
struct step_numbers {
	u64 opaque;
};

static int (*iter_num_new)(struct step_numbers *, int, int) = (void *)ITER_NUM_NEW;
static u32 *(*iter_num_next)(struct step_numbers *) = (void *)ITER_NUM_NEXT;
static void (*iter_num_destroy)(struct step_numbers *) = (void *)ITER_NUM_DESTROY;
#endif

static __always_inline struct timeline *timeline_of(u32 cpu)
{
	return timelines.lookup(&cpu);
}

static __always_inline void add_idle_period(struct timeline *timeline, u64 start, u64 end)
{
	u64 place = timeline->idle_count & (IDLE_PERIODS - 1);

	timeline->idle_start_ns[place] = start;
	timeline->idle_end_ns[place] = end;
	timeline->idle_count++;
}

/* The slice that ends now. `known`: the task that leaves is the one that was seen to come. */
static __always_inline void add_slice(struct cpu_state *cpu, struct timeline *timeline, u32 tid, u64 ns, bool known,
				      u64 now)
{
	u64 slice = (ns << SLICE_TID_BITS) | tid;

	timeline->slices[cpu->slice_count & (SLICES - 1)] = known ? slice & ~SLICE_UNKNOWN : slice | SLICE_UNKNOWN;
	cpu->slice_count++;
	if (known && !tid && ns >= IDLE_PERIOD_NS)
		add_idle_period(timeline, now - ns, now);
}

/* What the hypervisor had taken so far, noted now and then: it is known at switches only. */
static __always_inline void mark_steal(struct cpu_state *cpu, struct timeline *timeline, struct task_id *id, u64 now)
{
	u64 count = timeline->steal_mark_count;
	struct steal_mark *mark;

	cpu->steal_due_ns = now + STEAL_MARK_NS;
	mark = &timeline->steal_marks[count & (STEAL_MARKS - 1)];
	mark->time_ns = now;
	mark->steal_ns = steal_of_cpu(id);
	timeline->steal_mark_count = count + 1;
}

/*
 * How much of the time since `from` the hypervisor had this CPU, at least. What was taken between the last mark before
 * and now may lie before `from`, but no more of it than there was time.
 */
static __always_inline u64 stolen_since(struct timeline *timeline, struct task_id *id, u64 from)
{
	u64 total = steal_of_cpu(id), count = timeline->steal_mark_count, stolen = 0, since;
	struct steal_mark *mark;

#pragma clang loop unroll(disable)
	for (u32 back = 1; back <= STEAL_MARKS; back++) {
		mark = &timeline->steal_marks[(count - back) & (STEAL_MARKS - 1)];
		if (!mark->time_ns || mark->steal_ns > total)
			break;
		since = total - mark->steal_ns;
		if (mark->time_ns >= from) {
			stolen = since;
			continue;
		}
		since = since > from - mark->time_ns ? since - (from - mark->time_ns) : 0;
		return since > stolen ? since : stolen;
	}
	return stolen;
}

/*
 * The verifier follows every branch through all steps of a walk, and gives up at a million instructions. So a step has
 * none but its exits (branchless.h).
 */
/* Adds to the blockers of a wait. When there are too many, those with the least time become `others`. */
static __always_inline void add_blocker(struct slow_wait *event, u64 tid, u64 ns)
{
	u64 place = 0, known = 0, used = 0, least = 0, least_ns = event->blocker_ns[0];
	u64 same, less, idle = is_equal(tid, 0), full, dropped, replaces, old_tid, old_ns;

	event->covered_ns += ns;
	event->cpu_idle_ns += only_if(idle, ns);
	ns = only_if(1 - idle, ns);
#pragma unroll
	for (u64 other = 0; other < BLOCKERS_SEEN; other++) {
		same = is_equal(event->blocker_tid[other], tid);
		known |= same;
		place += only_if(same, other);
		used += 1 - is_equal(event->blocker_tid[other], 0);
		less = is_less(event->blocker_ns[other], least_ns);
		least += only_if(less, other - least);
		least_ns -= only_if(less, least_ns - event->blocker_ns[other]);
	}
	full = (1 - known) & is_equal(used, BLOCKERS_SEEN);
	replaces = full & is_less(least_ns, ns);
	dropped = (full & (1 - replaces)) | is_equal(ns, 0);
	place = only_if(known, place) + only_if(full, least) + only_if((1 - known) & (1 - full), used);
	place &= BLOCKERS_SEEN - 1;
	old_tid = event->blocker_tid[place];
	old_ns = event->blocker_ns[place];
	event->others_ns += only_if(replaces, least_ns) + only_if(dropped, ns);
	event->blocker_tid[place] = only_if(dropped, old_tid) + only_if(1 - dropped, tid);
	event->blocker_ns[place] = only_if(1 - replaces, old_ns) + only_if(1 - dropped, ns);
}

/* A walk back through the timeline of a CPU, for what had it between two moments. */
struct walk {
	u64 from;
	u64 to;
	u64 count;
	u64 start; /* of the slice */
	u64 end;
	u64 slice;
};

/* False: it is done. */
static __always_inline bool step_back(struct slow_wait *event, struct timeline *timeline, struct walk *walk, u64 back)
{
	/* From the later start to the earlier end, if that is any time at all. */
	u64 ns = smaller(walk->end, walk->to) - (walk->start + walk->from - smaller(walk->start, walk->from));

	ns = only_if(1 - opaque(opaque(ns) >> 63), ns);
	event->switches += 1 - is_equal(ns, 0);
	add_blocker(event, walk->slice & ((1 << SLICE_TID_BITS) - 1), only_if(1 - (walk->slice >> 63), ns));
	walk->end = walk->start;
	if (back >= walk->count || walk->end <= walk->from)
		return false;
	walk->slice = timeline->slices[(walk->count - back - 1) & (SLICES - 1)];
	walk->start = walk->end - ((walk->slice & ~SLICE_UNKNOWN) >> SLICE_TID_BITS);
	return true;
}

/* What had a CPU between two moments, as far back as its timeline reaches. `running`: what has had it since end_ns. */
static __always_inline void add_blockers(struct slow_wait *event, struct cpu_state *cpu, struct timeline *timeline,
					 u64 running, u64 from, u64 to)
{
	struct walk walk = { from, to, cpu->slice_count, cpu->slice_start_ns, to, running };

#ifdef ITER_NUM_NEXT
	struct step_numbers numbers;
	u32 *back;

	iter_num_new(&numbers, 0, SLICES);
	while ((back = iter_num_next(&numbers)) && step_back(event, timeline, &walk, *back))
		;
	iter_num_destroy(&numbers);
#else
#pragma clang loop unroll(disable)
	for (u64 back = 0; back < SLICES && step_back(event, timeline, &walk, back); back++)
		;
#endif
}

#endif
