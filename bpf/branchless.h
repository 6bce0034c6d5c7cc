/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Comparisons as numbers (0 or 1), and what does not apply is multiplied by zero: the verifier follows every branch, and
 * all that comes after it anew, wherever a number that was chosen by it is an index or decides something later. All
 * operands are below 2^63. The empty asm keeps the compiler from making branches of it, or a mask with a constant,
 * which newer verifiers (6.16) follow as two branches.
 */
#ifndef SCHEDTOP_BRANCHLESS_H
#define SCHEDTOP_BRANCHLESS_H

#include <linux/compiler.h>
#include <linux/types.h>

static __always_inline u64 opaque(u64 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline u64 is_less(u64 one, u64 other)
{
	return opaque(opaque(one - other) >> 63);
}

static __always_inline u64 is_equal(u64 one, u64 other)
{
	return opaque(opaque((one ^ other) - 1) >> 63);
}

static __always_inline u64 only_if(u64 condition, u64 value)
{
	return condition * value;
}

static __always_inline u64 smaller(u64 one, u64 other)
{
	return other - only_if(is_less(one, other), other - one);
}

#endif
