"""Where Frames come from: the live kernel, /proc, synthetic scenarios."""
