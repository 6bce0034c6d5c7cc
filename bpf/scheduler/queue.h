/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How many tasks wait on this CPU's run queue. *_OFFSET and QUEUE_* are flags from the kernel's BTF; without them the
 * lengths are unknown. What counts is in schedtop/sources/kernel/queue_fields.py.
 */
#ifndef SCHEDTOP_SCHEDULER_QUEUE_H
#define SCHEDTOP_SCHEDULER_QUEUE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../task_struct.h"
#include "maps.h"

static __always_inline u32 queue_field(u64 queue, u64 offset)
{
	u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)(queue + offset));
	return value;
}

static __always_inline u32 at_least_0(u32 count, u32 minus)
{
	return count > minus ? count - minus : 0;
}

/*
 * `runs`: whether one of those that the kernel counts runs and so does not wait. Of the fair class one does when its
 * queue has a current entity. Returns false where the queue cannot be found.
 */
static __always_inline bool queue_lengths(u32 *lengths, u32 runs)
{
#ifdef QUEUE_FAIR_OFFSET
	u64 queue = current_queue(), current = 0;
	u32 delayed = 0, all, fair_count;

	if (!queue || queue_field(queue, RQ_CPU_OFFSET) != bpf_get_smp_processor_id())
		return false;
	all = queue_field(queue, QUEUE_ALL_OFFSET);
	fair_count = queue_field(queue, QUEUE_FAIR_OFFSET);
	bpf_probe_read_kernel(&current, sizeof(current), (void *)(queue + QUEUE_FAIR_CURRENT_OFFSET));
#ifdef QUEUE_FAIR_ALL_OFFSET
	delayed = at_least_0(queue_field(queue, QUEUE_FAIR_ALL_OFFSET), fair_count);
#endif
#ifdef QUEUE_DELAYED_OFFSET
	delayed = queue_field(queue, QUEUE_DELAYED_OFFSET);
	fair_count = at_least_0(fair_count, delayed);
#endif
	lengths[QUEUE_ALL] = at_least_0(all, delayed + runs);
	lengths[QUEUE_FAIR] = at_least_0(fair_count, !!current);
	return true;
#else
	return false;
#endif
}

#ifdef QUEUE_FAIR_OFFSET
static __always_inline void count_length(struct queue_samples *samples, u32 kind, u64 length, u32 parity)
{
	u64 slot = length < QUEUE_SLOTS ? length : QUEUE_SLOTS - 1;

	samples->sum[kind] += length;
	if (samples->longest[parity * QUEUE_KINDS + kind] < length)
		samples->longest[parity * QUEUE_KINDS + kind] = length;
	/* 64 bits that the compiler knows nothing of, so that what it compares is what it uses. */
	asm volatile("" : "+r"(slot));
	if (slot < QUEUE_SLOTS)
		samples->counts[kind * QUEUE_SLOTS + slot]++;
}

/* Attached only while the run queues are looked at. */
int clock_queue(void *ctx)
{
	u32 cpu = bpf_get_smp_processor_id(), lengths[QUEUE_KINDS] = {}, zero = 0, parity;
	struct queue_samples *samples = queues.lookup(&cpu);
	struct config *settings = config.lookup(&zero);
	bool runs = (u32)bpf_get_current_pid_tgid();

	if (!samples || !settings)
		return 0;
	if (!queue_lengths(lengths, runs)) {
		samples->failed++;
		return 0;
	}
	parity = settings->epoch & 1;
	if (samples->longest_epoch[parity] != settings->epoch) {
		samples->longest_epoch[parity] = settings->epoch;
		samples->longest[parity * QUEUE_KINDS + QUEUE_ALL] = 0;
		samples->longest[parity * QUEUE_KINDS + QUEUE_FAIR] = 0;
	}
	samples->samples++;
	samples->idle += !runs;
	count_length(samples, QUEUE_ALL, lengths[QUEUE_ALL], parity);
	count_length(samples, QUEUE_FAIR, lengths[QUEUE_FAIR], parity);
	return 0;
}
#endif

#endif
