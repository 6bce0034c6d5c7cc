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
#define DEVICE_MAJOR(number) ((u32)(number) >> 20) /* MINORBITS, include/linux/kdev_t.h */

/* Consoles, terminals, pseudo-terminals, serial lines: Documentation/admin-guide/devices.txt. */
static __always_inline bool is_tty(u32 device)
{
	u32 major = DEVICE_MAJOR(device);

	return (major >= 2 && major <= 5) || (major >= 128 && major <= 143) || major == 166 || major == 188 ||
	       major == 204 || major == 229;
}

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
		return is_tty(pointer_at(inode + INODE_DEVICE_OFFSET)) ? IO_TTY : IO_DEVICE;
	case 0060000:
		return IO_DEVICE;
	default:
		return IO_OTHER;
	}
}
#endif

/* The number of the device that a file lies on, or that it is; 0: none of files and disks. */
static __always_inline u32 device_of_file(u64 file)
{
#if defined(FILES_FDT_OFFSET) && defined(INODE_SUPER_OFFSET)
	u64 inode = pointer_at(file + FILE_INODE_OFFSET);
	u32 kind = inode ? (u16)pointer_at(inode + INODE_MODE_OFFSET) & MODE_KIND : 0;

	if (kind == 0060000)
		return pointer_at(inode + INODE_DEVICE_OFFSET);
	if (kind == 0100000 || kind == 0040000)
		return pointer_at(pointer_at(inode + INODE_SUPER_OFFSET) + SUPER_DEVICE_OFFSET);
#endif
	return 0;
}

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
