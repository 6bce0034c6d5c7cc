"""The screen of the path across tasks."""
