/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How programs read memory: what the verifier lets them load directly, and what the kernel has to copy for them. */
#ifndef SCHEDTOP_MEMORY_H
#define SCHEDTOP_MEMORY_H

#include <linux/compiler.h>
#include <linux/types.h>

#define COMM_BYTES 16

#define barrier() asm volatile("" ::: "memory")

/*
 * A field of a structure or record, by its offset, which is a flag. An integer as base: bcc rewrites no such load.
 * COPIED_FIELDS: of programs that begin with a pointer which the verifier lets nothing be loaded from.
 */
#ifdef COPIED_FIELDS
#define FIELD(type, base, offset) ((type)pointer_at((u64)(base) + (offset)))
#else
#define FIELD(type, base, offset) (*(type *)((u64)(base) + (offset)))
#endif

/*
 * A pointer in a task_struct that the verifier trusts. Of such a load it asks whether the pointer may be trusted as
 * well, and looks for four names among all types of the kernel, each time it follows the load. Of a copy of the task's
 * pointer that is not trusted it asks nothing (bpf_rdonly_cast, 6.2 and later: an ordinary move when it runs).
 */
#ifdef RDONLY_CAST
/* bpf_rdonly_cast() by a name: bcc 0.18 breaks off at a call of what has none. */
static __always_inline u64 rdonly_cast(u64 address, u32 type)
{
	u64 (*cast)(u64, u32) = (void *)RDONLY_CAST;

	return cast(address, type);
}

#define TASK_POINTER(task, offset) FIELD(u64, rdonly_cast(task, TASK_TYPE), offset)
#else
#define TASK_POINTER(task, offset) FIELD(u64, task, offset)
#endif

/*
 * Before the definition of a map with large values. bcc makes code that prints and parses them, a piece for each number
 * of an array, and runs its optimiser over that. It looks for the map by its name in the object, which is another then.
 */
#define UNPRINTED(name)                                                                                                \
	struct name##_table_t;                                                                                         \
	extern struct name##_table_t name __asm__("unprinted_" #name)

/*
 * The eight bytes at an address of which the verifier knows nothing; 0 if there is nothing to read. Where it lets an
 * address be cast, this is a load that survives a fault, and else a call of the kernel.
 */
static __always_inline u64 pointer_at(u64 address)
{
#ifdef U64_TYPE
	return *(u64 *)rdonly_cast(address, U64_TYPE);
#else
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)address);
	return value;
#endif
}

#endif
