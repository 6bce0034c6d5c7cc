"""Frame: what the scheduler did in one interval, and its parts; how rows are grouped and filtered."""
