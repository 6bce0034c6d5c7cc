"""The screen of what all tasks do."""
