"""Tests of conditions, and of what is done when they come true."""
