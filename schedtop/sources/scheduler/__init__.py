"""The dashboard's source: every switch, wakeup and migration, counted in the kernel."""
