/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Block I/O that is done: of which device, and when on which CPU. What an interrupt wakes right after waited for it. */
#ifndef SCHEDTOP_INTERRUPTS_COMPLETIONS_H
#define SCHEDTOP_INTERRUPTS_COMPLETIONS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"

#define COMPLETIONS 4096 /* of each CPU (a power of two); user space takes them every 0.1 s */

#define DEVICE_MINOR_BITS 20 /* of a number of the kernel, include/linux/kdev_t.h */

struct completion {
	u64 time_ns;
	u32 device;
	u32 reserved;
};

/* Written by its CPU alone. One that interrupts another one may take its place. */
struct completion_count {
	u64 count;
};

/* Of CPUs * COMPLETIONS places where user space asks for them, by CPU. */
BPF_F_TABLE("array", u32, struct completion, completions, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct completion_count, completion_counts, CPUS, BPF_F_MMAPABLE);

static __always_inline void add_completion(u32 device)
{
	u32 cpu = bpf_get_smp_processor_id(), at;
	struct completion_count *counted = completion_counts.lookup(&cpu);
	struct completion *completion;

	if (!counted)
		return;
	at = cpu * COMPLETIONS + (counted->count & (COMPLETIONS - 1));
	completion = completions.lookup(&at);
	if (!completion)
		return;
	completion->time_ns = bpf_ktime_get_ns();
	completion->device = device;
	/* The entry before the count that tells of it. */
	barrier();
	counted->count++;
}

#endif
