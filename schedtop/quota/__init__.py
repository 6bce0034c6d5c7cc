"""Which quota a throttled cgroup would have needed: pure arithmetic on what Frames tell (docs/advise.md)."""
