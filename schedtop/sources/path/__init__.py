"""The path across tasks of the live kernel."""
