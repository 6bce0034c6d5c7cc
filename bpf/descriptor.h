/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The arguments of a system call, and what its descriptors stand for, by offsets from the kernel's BTF. */
#ifndef SCHEDTOP_DESCRIPTOR_H
#define SCHEDTOP_DESCRIPTOR_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"
#include "syscalls.h"

static __always_inline bool is_of_other_table(u64 number)
{
#ifdef TASK_STATUS_OFFSET
	if (pointer_at(bpf_get_current_task() + TASK_STATUS_OFFSET) & COMPAT_STATUS)
		return true;
#endif
	return number >= OTHER_TABLE;
}

#define MODE_KIND 0170000 /* S_IFMT */

#ifdef FILES_FDT_OFFSET
/* The struct file of a descriptor of the current task; 0: there is none. */
static __always_inline u64 file_of(u64 descriptor)
{
	u64 table = pointer_at(pointer_at(bpf_get_current_task() + TASK_FILES_OFFSET) + FILES_FDT_OFFSET);

	if ((u32)descriptor >= (u32)pointer_at(table + FDTABLE_MAX_OFFSET))
		return 0;
	return pointer_at(pointer_at(table + FDTABLE_FD_OFFSET) + 8ULL * (u32)descriptor);
}

static __always_inline u32 kind_of_file(u64 file)
{
	u64 inode = pointer_at(file + FILE_INODE_OFFSET);

	if (!inode)
		return IO_UNKNOWN;
	switch ((u16)pointer_at(inode + INODE_MODE_OFFSET) & MODE_KIND) {
	case 0100000: /* regular file */
	case 0040000: /* directory */
		return IO_FILE;
	case 0010000:
		return IO_PIPE;
	case 0140000:
		return IO_SOCKET;
	case 0020000:
	case 0060000:
		return IO_DEVICE;
	default:
		return IO_OTHER;
	}
}
#endif

/* What a descriptor of the current task stands for, plus one. */
static __always_inline u32 kind_of(u64 descriptor)
{
#ifdef FILES_FDT_OFFSET
	u64 file = file_of(descriptor);

	return (file ? kind_of_file(file) : IO_UNKNOWN) + 1;
#else
	return IO_UNKNOWN + 1;
#endif
}

#ifdef REGS_ARGUMENT_0_OFFSET
static __always_inline u64 argument(u64 regs, u32 one_based)
{
	if (one_based == 1)
		return FIELD(u64, regs, REGS_ARGUMENT_0_OFFSET);
	if (one_based == 2)
		return FIELD(u64, regs, REGS_ARGUMENT_1_OFFSET);
	return FIELD(u64, regs, REGS_ARGUMENT_2_OFFSET);
}
#endif

#endif
