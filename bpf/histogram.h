/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Log-linear buckets: 8 an octave from 64 ns to 2^40 ns. schedtop/base/histogram.py computes the same. */
#ifndef SCHEDTOP_HISTOGRAM_H
#define SCHEDTOP_HISTOGRAM_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "branchless.h"

#define FIRST_OCTAVE 6
#define LAST_OCTAVE 39
#define SUB_BITS 3
/* Where the formula gives 0. */
#define SHORTEST ((1 << FIRST_OCTAVE) - 1)
#define LATENCY_BUCKETS (((LAST_OCTAVE - FIRST_OCTAVE + 1) << SUB_BITS) + 2)

/* A step of the binary logarithm: whether `rest` has a bit above the lowest `bits`; if so, it is shifted down by them. */
static __always_inline u32 octaves(u64 *rest, u32 bits)
{
	u32 some = is_less((1ULL << bits) - 1, *rest) * bits;

	*rest >>= some;
	return some;
}

/* BPF has no instruction that counts leading zeros. The limits are such that the formula gives the outer buckets. */
static __always_inline u32 latency_bucket(u64 ns)
{
	u64 rest;
	u32 octave;

	if (ns >> (LAST_OCTAVE + 1))
		ns = 1ULL << (LAST_OCTAVE + 1);
	ns += only_if(is_less(ns, SHORTEST), SHORTEST - ns);
	rest = ns;
	octave = octaves(&rest, 32);
	octave += octaves(&rest, 16);
	octave += octaves(&rest, 8);
	octave += octaves(&rest, 4);
	octave += octaves(&rest, 2);
	octave += rest >> 1;
	return (octave << SUB_BITS) + (ns >> (octave - SUB_BITS) & ((1 << SUB_BITS) - 1)) + 1 -
	       (FIRST_OCTAVE << SUB_BITS);
}

#endif
