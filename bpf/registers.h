/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The system call that a task is in. */
#ifndef SCHEDTOP_REGISTERS_H
#define SCHEDTOP_REGISTERS_H

#include <linux/types.h>

#include "memory.h"

#ifdef REGS_SYSCALL_OFFSET

/*
 * Its number; none that there is of a task in no system call. Where the registers lie on a kernel stack is the same for
 * all tasks: `in_stack` keeps it, 0 at first, so that the kernel is called once for each of those that keep it.
 */
static __always_inline u32 syscall_number(u64 task, u64 *in_stack)
{
	u64 (*task_pt_regs)(u64 task) = (void *)BPF_TASK_PT_REGS;
#if defined(TASK_STACK_OFFSET) && defined(U64_TYPE)
	/* As a number: by 7.3 the verifier takes a stack for a pointer with which nothing may be computed. */
	u64 stack = pointer_at(task + TASK_STACK_OFFSET);

	if (!*in_stack) {
		*in_stack = task_pt_regs(task);
		/* Of a pointer the verifier may let nothing unknown be taken; what it reads in a map is a number. */
		barrier();
		*in_stack -= stack;
	}
	return pointer_at(stack + *in_stack + REGS_SYSCALL_OFFSET);
#else
	return FIELD(u64, task_pt_regs(task), REGS_SYSCALL_OFFSET);
#endif
}

#endif

#endif
