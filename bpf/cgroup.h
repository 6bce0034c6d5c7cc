/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The cgroup of a task_struct, for front ends that may load from it; its offsets are flags. */
#ifndef SCHEDTOP_CGROUP_H
#define SCHEDTOP_CGROUP_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"

/* On the default hierarchy; on cgroup v1 or hybrid the group of the cpu controller. */
static __always_inline u64 group_of(u64 css_set)
{
#ifdef CSS_SET_SUBSYS_OFFSET
	u64 group = FIELD(u64, css_set, CSS_SET_SUBSYS_OFFSET);

	return FIELD(u64, group, CSS_CGROUP_OFFSET);
#else
	return FIELD(u64, css_set, CSS_SET_DEFAULT_CGROUP_OFFSET);
#endif
}

static __always_inline u64 group_id(u64 group)
{
	u64 node = FIELD(u64, group, CGROUP_NODE_OFFSET);

	return FIELD(u64, node, NODE_ID_OFFSET);
}

#ifdef SELECTED_CGROUP
/* Is the group the descendant, at any depth, of the one that the filter names? That one is at SELECTED_CGROUP_LEVEL. */
static __always_inline bool is_below_selected(u64 group)
{
	u64 id;

	if (FIELD(u32, group, CGROUP_LEVEL_OFFSET) <= SELECTED_CGROUP_LEVEL)
		return false;
	group += CGROUP_ANCESTORS_OFFSET + 8 * SELECTED_CGROUP_LEVEL;
#ifdef CGROUP_ANCESTORS_ARE_IDS
	id = pointer_at(group);
#else
	id = pointer_at(pointer_at(pointer_at(group) + CGROUP_NODE_OFFSET) + NODE_ID_OFFSET);
#endif
	return id == SELECTED_CGROUP;
}

static __always_inline bool is_in_selected(u64 group, u64 id)
{
	return id == SELECTED_CGROUP || is_below_selected(group);
}
#endif

#endif
