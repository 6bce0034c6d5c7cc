"""What /proc, /sys and the cgroup files tell of the host."""
