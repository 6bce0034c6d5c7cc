/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The numbers of tasks in a pid namespace: an iterator over the tasks that its reader can see
 * (kernel/bpf/task_iter.c), which writes each task's number of the host and that of one namespace.
 */

#include <linux/types.h>

#include "memory.h"

/* MAX_PID_NS_LEVEL of include/linux/pid_namespace.h */
#define MOST_LEVELS 32

/* One task; what the iterator writes. */
struct numbers {
	u32 tid; /* of the host */
	u32 inside; /* in the namespace */
};

/* Written by user space: the inode number of the namespace. */
BPF_F_TABLE("array", u32, u64, wanted, 1, BPF_F_MMAPABLE);
/* Only tells user space the layout. */
BPF_TABLE("array", u32, struct numbers, numbers, 1);

int iter_task(u64 *ctx)
{
	int (*seq_write)(u64 file, const void *data, u32 size) = (void *)BPF_SEQ_WRITE;
	u64 meta = ctx[0], task = ctx[1];
	struct numbers row = {};
	u32 level, levels, zero = 0;
	u64 *space = wanted.lookup(&zero);
	u64 pid;

	if (!task || !space)
		return 0;
	pid = FIELD(u64, task, TASK_THREAD_PID_OFFSET);
	if (!pid)
		return 0;
	row.tid = FIELD(u32, task, TASK_TID_OFFSET);
	levels = (u32)pointer_at(pid + PID_LEVEL_OFFSET);
#pragma unroll
	for (level = 0; level < MOST_LEVELS; level++) {
		u64 number = pid + PID_NUMBERS_OFFSET + level * UPID_NEXT;
		u64 other;

		if (level > levels)
			break;
		other = pointer_at(number + UPID_NAMESPACE_OFFSET);
		if ((u32)pointer_at(other + PID_NAMESPACE_ID_OFFSET) == *space)
			row.inside = (u32)pointer_at(number + UPID_NUMBER_OFFSET);
	}
	if (row.inside)
		seq_write(FIELD(u64, meta, 0), &row, sizeof(row));
	return 0;
}
