"""The activity of all tasks, from the live kernel."""
