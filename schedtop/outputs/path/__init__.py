"""The path across tasks as data, text and pictures."""
