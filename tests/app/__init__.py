"""Tests of the text UI: app."""
