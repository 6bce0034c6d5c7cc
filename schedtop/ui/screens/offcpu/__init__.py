"""The screen of the time without a CPU."""
