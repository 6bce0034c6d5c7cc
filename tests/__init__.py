"""Tests; a package, so that what several of them share can be imported."""

from pathlib import Path

# The checkout.
ROOT = Path(__file__).resolve().parents[1]
