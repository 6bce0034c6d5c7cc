"""The off-CPU measurement on the live kernel."""
