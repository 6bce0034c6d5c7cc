"""Tests of the text UI: panes."""
