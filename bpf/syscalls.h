/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* System calls as all that count them see them: numbers, kinds of descriptors, errors. */
#ifndef SCHEDTOP_SYSCALLS_H
#define SCHEDTOP_SYSCALLS_H

#include <linux/compiler.h>
#include <linux/types.h>

#define MOST_CALLS 1024
#ifndef MOST_ERRORS
#define MOST_ERRORS 2048
#endif
#define NO_CALL (-1)
#define OTHER_TABLE (MOST_CALLS - 1) /* calls of another table (32 bit): counted as one */
#define MOST_ERRNO 4095

/* What a descriptor stands for, in the order in which the model names them. */
enum io_kind {
	IO_FILE,
	IO_PIPE,
	IO_SOCKET,
	IO_TTY,
	IO_DEVICE,
	IO_OTHER,
	IO_UNKNOWN,
	IO_KINDS
};

struct call_error {
	u64 count;
	u32 call;
	u32 number;
};

BPF_TABLE("hash", u32, struct call_error, errors, MOST_ERRORS);

static __always_inline bool is_error(s64 result)
{
	return result < 0 && result >= -MOST_ERRNO;
}

/* Counts what a call failed with; false: there is no room. */
static __always_inline bool count_error(s32 number, s64 result)
{
	u32 key = (u32)number << 16 | (u32)-result;
	struct call_error *error = errors.lookup(&key);
	struct call_error fresh = { .call = number, .number = -result };

	if (!error) {
		errors.insert(&key, &fresh);
		error = errors.lookup(&key);
	}
	if (!error)
		return false;
	__sync_fetch_and_add(&error->count, 1);
	return true;
}

#endif
