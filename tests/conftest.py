"""What all tests need."""

import signal

import pytest

# A shell's background jobs ignore it, their children too, and then no command that a test interrupts would ever end.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--snapshot-update`: what tests/app/test_snapshots.py compares with is written anew."""
    parser.addoption("--snapshot-update", action="store_true", help="write the snapshots of the screen anew")
