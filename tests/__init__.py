"""Tests; a package, so that what several of them share can be imported."""

import os
from pathlib import Path

# Under sudo tests and the programs here are root's alone. What schedtop does for the user who called has its own tests.
for _name in ("SUDO_UID", "SUDO_GID", "PKEXEC_UID", "DOAS_USER"):
    os.environ.pop(_name, None)

# The checkout.
ROOT = Path(__file__).resolve().parents[1]
