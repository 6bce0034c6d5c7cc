/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The time that interrupts take, by CPU and source, and from which task. Attached only while it is wanted.
 *
 * There are two levels. Softirqs do not interrupt each other, nor do hard interrupts (device interrupts and vectors), but
 * hard ones interrupt softirqs. What a program writes belongs to its level, so that one that interrupts another here
 * writes other places; the time of a softirq is without the hard interrupts in it.
 *
 * Sizes are chosen by user space when the maps are made: `sources` rows of `handled` for each CPU, `spans` places in
 * each of its two rings, and `task_slots` (both powers of two).
 */
#ifndef SCHEDTOP_INTERRUPTS_INTERRUPTS_H
#define SCHEDTOP_INTERRUPTS_INTERRUPTS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../woken_by.h"
#include "completions.h"
#include "current.h"

enum level {
	LEVEL_SOFT,
	LEVEL_HARD,
};

#define LEVELS 2
#define LEVEL_STATES (CPUS * LEVELS)

#define RAISES_OF_CPU 16 /* one for each softirq: a power of two, more than there are */
#define RAISES (CPUS * RAISES_OF_CPU)

/* What raised a softirq, by softirq, in one epoch on one CPU (powers of two). */
#define RAISED_SLOTS 256
#define RAISED_PROBES 4
#define ALL_RAISED (CPUS * RAISED_SLOTS)

#define RAISER_UNKNOWN 0xffffffff

/* What is under way on a level of a CPU, and what was so far. Written by that CPU and level alone. */
struct level_state {
	u64 begin_ns; /* 0: none */
	u64 hard_ns; /* of the softirq that is under way: hard interrupts of the CPU when it began */
	u64 source;
	u64 total_ns;
	u64 span_count;
	u64 unmatched; /* an end was missed */
	u64 unattributed_ns; /* of tasks that found no room */
	u64 raiser; /* of the softirq that is under way, as in struct interrupting */
};

/* A source on a CPU. Written by that CPU alone, on the source's level. */
struct handled {
	u64 count;
	u64 total_ns;
	u64 max_epoch[2]; /* the longest one of an epoch, by its parity */
	u64 max_ns[2];
};

/* An interrupt that is over. `tid`: what it interrupted, 0: the idle task. */
struct span {
	u64 end_ns;
	u32 ns;
	u32 source_and_tid; /* the source above SOURCE_SHIFT */
	u32 raiser; /* of a softirq, as in struct interrupting */
	u32 nested; /* how long hard interrupts had the CPU meanwhile, and SPAN_OF_KSOFTIRQD */
};

/* Of `nested`: a softirq that is the work of the current task, and was taken from none. */
#define SPAN_OF_KSOFTIRQD (1U << 31)

/* What was taken from a task in an epoch, by its parity. */
struct interrupted {
	u32 tid[2];
	u32 epoch[2];
	u64 ns[2];
};

/*
 * What has raised a softirq on a CPU: first since that last began there, and last of all. The kernel forgets what was
 * raised a moment before it begins with it: what is raised in between is the last, and asks for the time after.
 */
struct raise {
	u32 first;
	u32 last;
};

/* The softirqs of an epoch, by its parity, that one task or interrupt raised on a CPU. Written by that CPU alone. */
struct raised {
	u32 raiser[2];
	u32 softirq[2];
	u32 epoch[2];
	u32 count[2];
	u64 ns[2];
};

/* Written by user space. */
struct interrupt_config {
	u64 epoch;
	u64 sources;
	u64 spans;
	u64 task_slots;
};

BPF_F_TABLE("array", u32, struct interrupt_config, interrupt_config, 1, BPF_F_MMAPABLE);
/* By CPU and level, as the rings of spans. */
BPF_F_TABLE("array", u32, struct level_state, levels, LEVEL_STATES, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct handled, handled, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct span, spans, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct interrupted, interrupted, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct raised, raised, ALL_RAISED, BPF_F_MMAPABLE);
BPF_TABLE("array", u32, struct raise, raises, RAISES);

/* ksoftirqd is a task whose work softirqs are: it is not interrupted by them. */
static __always_inline bool is_ksoftirqd(void)
{
	u64 comm[COMM_BYTES / 8] = {}, ksoftirqd;

	__builtin_memcpy(&ksoftirqd, "ksoftirqd/", sizeof(ksoftirqd));
	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == ksoftirqd;
}

/* A device interrupt's source. */
static __always_inline u32 irq_source(struct interrupt_config *config, u64 irq)
{
	return irq < config->sources - FIRST_IRQ ? FIRST_IRQ + irq : OTHER_IRQS;
}

static __always_inline struct level_state *level_of(u32 cpu, u32 level)
{
	u32 at = LEVELS * cpu + level;

	return levels.lookup(&at);
}

/* How long hard interrupts had this CPU so far. */
static __always_inline u64 hard_total(u32 cpu)
{
	struct level_state *hard = level_of(cpu, LEVEL_HARD);

	return hard ? hard->total_ns : 0;
}

static __always_inline struct raise *raise_of(u32 cpu, u32 softirq)
{
	u32 at = cpu * RAISES_OF_CPU + (softirq & (RAISES_OF_CPU - 1));

	return raises.lookup(&at);
}

/*
 * What raises a softirq now: the hard interrupt under way; what raised the softirq under way, which goes on with that;
 * else the current task. An interrupt without a tracepoint is not the task's doing.
 */
static __always_inline u32 raiser_now(struct interrupting *now)
{
	u32 by = woken_by(preempt_count_by(&now->queue_at));

	if (by == BY_INTERRUPT)
		return now->hard ? (now->hard - 1) << SOURCE_SHIFT : 0;
	if (by == BY_SOFTIRQ)
		return now->soft ? now->raiser : 0;
	return bpf_get_current_pid_tgid();
}

static __always_inline void raise_softirq(u32 softirq)
{
	u32 cpu = bpf_get_smp_processor_id(), raiser;
	struct interrupting *now = interrupting.lookup(&cpu);
	struct raise *raise = raise_of(cpu, softirq);

	if (!now || !raise)
		return;
	raiser = raiser_now(now);
	if (!raiser)
		raiser = RAISER_UNKNOWN;
	raise->last = raiser;
	if (!raise->first)
		raise->first = raiser;
}

/* What raised a softirq that begins. */
static __always_inline u32 take_raiser(u32 cpu, u32 softirq)
{
	struct raise *raise = raise_of(cpu, softirq);
	u32 raiser;

	if (!raise)
		return 0;
	raiser = raise->first ? raise->first : raise->last;
	raise->first = 0;
	return raiser == RAISER_UNKNOWN ? 0 : raiser;
}

static __always_inline void begin(u32 level, u32 source)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct level_state *state = level_of(cpu, level);
	struct interrupting *now = interrupting.lookup(&cpu);

	if (!state || !now)
		return;
	if (state->begin_ns)
		state->unmatched++;
	state->source = source;
	if (level == LEVEL_HARD) {
		now->hard = source + 1;
	} else {
		now->raiser = state->raiser = take_raiser(cpu, source);
		now->soft = source + 1;
		state->hard_ns = hard_total(cpu);
	}
	state->begin_ns = bpf_ktime_get_ns();
}

static __always_inline void charge_task(struct level_state *state, struct interrupt_config *config, u32 tid, u64 ns)
{
	u32 epoch = config->epoch, parity = epoch & 1, at = tid & (config->task_slots - 1);
	struct interrupted *slot = interrupted.lookup(&at);

	if (!slot)
		return;
	if (slot->epoch[parity] != epoch) {
		slot->ns[parity] = 0;
		slot->tid[parity] = tid;
		slot->epoch[parity] = epoch;
	}
	/* A hard interrupt may come in between: the other level adds to the same slot. */
	if (slot->tid[parity] == tid)
		__sync_fetch_and_add(&slot->ns[parity], ns);
	else
		state->unattributed_ns += ns;
}

/* What finds no room is not told, but counts for its softirq. */
static __always_inline void charge_raiser(struct level_state *state, struct interrupt_config *config, u32 cpu, u64 ns)
{
	u32 epoch = config->epoch, parity = epoch & 1, raiser = state->raiser, softirq = state->source;
	u32 hash = (raiser ^ raiser >> SOURCE_SHIFT ^ softirq * 37), at;
	struct raised *slot;

#pragma unroll
	for (u32 probe = 0; probe < RAISED_PROBES; probe++) {
		at = cpu * RAISED_SLOTS + ((hash + probe) & (RAISED_SLOTS - 1));
		slot = raised.lookup(&at);
		if (!slot)
			return;
		if (slot->epoch[parity] != epoch) {
			slot->raiser[parity] = raiser;
			slot->softirq[parity] = softirq;
			slot->count[parity] = 0;
			slot->ns[parity] = 0;
			slot->epoch[parity] = epoch;
		}
		if (slot->raiser[parity] == raiser && slot->softirq[parity] == softirq) {
			slot->count[parity]++;
			slot->ns[parity] += ns;
			return;
		}
	}
}

static __always_inline void add_span(struct level_state *state, struct interrupt_config *config, u32 cpu, u32 level,
				     u32 tid, u64 ns, u32 nested, u64 now)
{
	u32 at = (LEVELS * cpu + level) * config->spans + (state->span_count & (config->spans - 1));
	struct span *span = spans.lookup(&at);

	if (!span)
		return;
	span->end_ns = now;
	span->ns = ns >> 32 ? 0xffffffff : ns;
	span->source_and_tid = state->source << SOURCE_SHIFT | tid;
	span->raiser = level == LEVEL_SOFT ? state->raiser : 0;
	span->nested = nested;
	/* The entry before the count that tells of it. */
	barrier();
	state->span_count++;
}

/* `counts`: it ends with this; of a line that devices share, each handler's time is added, and the last one counts. */
static __always_inline void end(u32 level, bool counts)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0, at, tid, parity;
	struct interrupt_config *config = interrupt_config.lookup(&zero);
	struct level_state *state = level_of(cpu, level);
	struct interrupting *current = interrupting.lookup(&cpu);
	struct handled *source;
	u64 now, ns, nested = 0;
	bool is_own;

	/* Without a beginning: we were attached in the middle of it. */
	if (!config || !state || !current || !state->begin_ns)
		return;
	now = bpf_ktime_get_ns();
	ns = now - state->begin_ns;
	if (level == LEVEL_HARD) {
		current->hard = 0;
	} else {
		current->soft = 0;
		nested = hard_total(cpu) - state->hard_ns;
	}
	state->begin_ns = 0;
	if ((s64)ns < 0)
		return;
	nested = nested < ns ? nested : ns;
	ns -= nested;
	state->total_ns += ns;
	at = cpu * (u32)config->sources + (u32)state->source;
	source = handled.lookup(&at);
	if (source) {
		parity = config->epoch & 1;
		source->count += counts;
		source->total_ns += ns;
		if (source->max_epoch[parity] != config->epoch) {
			source->max_ns[parity] = 0;
			source->max_epoch[parity] = config->epoch;
		}
		if (source->max_ns[parity] < ns)
			source->max_ns[parity] = ns;
	}
	if (level == LEVEL_SOFT && state->raiser)
		charge_raiser(state, config, cpu, ns);
	tid = bpf_get_current_pid_tgid();
	/* As a blocker it is ksoftirqd. */
	is_own = tid && level == LEVEL_SOFT && is_ksoftirqd();
	if (tid && !is_own)
		charge_task(state, config, tid, ns);
	if (nested >= SPAN_OF_KSOFTIRQD)
		nested = SPAN_OF_KSOFTIRQD - 1;
	add_span(state, config, cpu, level, tid, ns, is_own ? nested | SPAN_OF_KSOFTIRQD : nested, now);
}

static __always_inline void begin_irq(u64 irq)
{
	u32 zero = 0;
	struct interrupt_config *config = interrupt_config.lookup(&zero);

	if (config)
		begin(LEVEL_HARD, irq_source(config, irq));
}

#endif
