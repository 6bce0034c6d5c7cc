"""Charts over time and of distributions, drawn by plotext: for the screen, and for text outputs."""
