"""Recordings as a source."""
