"""Recordings as tables of rows: what databases read, described in docs/fleet.md."""
