"""Captures of the live kernel."""
