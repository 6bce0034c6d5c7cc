"""The file format of recordings: lines and their fields."""
