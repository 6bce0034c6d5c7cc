"""Time without a CPU on the screen: threads, and the stacks in which they were."""
