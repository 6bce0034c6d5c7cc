/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How programs read memory: what the verifier lets them load directly, and what the kernel has to copy for them. */
#ifndef SCHEDTOP_MEMORY_H
#define SCHEDTOP_MEMORY_H

#include <linux/compiler.h>
#include <linux/types.h>

#define COMM_BYTES 16

#define barrier() asm volatile("" ::: "memory")

/* A field of a structure or record, by its offset, which is a flag. An integer as base: bcc rewrites no such load. */
#define FIELD(type, base, offset) (*(type *)((u64)(base) + (offset)))

static __always_inline u64 pointer_at(u64 address)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)address);
	return value;
}

#endif
