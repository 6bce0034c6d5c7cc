"""Where this machine's apt has its packages from: what tests fetch of other releases comes from there, too."""

from __future__ import annotations

import argparse
import shutil
import subprocess


def mirrors() -> dict[str, str]:
    """The addresses by label, as apt names it (`Debian`, `Debian-Security`, `Ubuntu`); empty without apt."""
    if shutil.which("apt-get") is None:
        return {}
    command = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [line.split() for line in lines]
    # The first of a label: Ubuntu gives the same to its security updates, which have an archive of their own.
    return {words[0]: words[1] for words in reversed(found) if len(words) == 2 and not words[1].startswith("cdrom:")}


def mirror(text: str) -> tuple[str, str]:
    """The label and the address of LABEL=ADDRESS. Raises ArgumentTypeError."""
    label, _, address = text.partition("=")
    if not label or "://" not in address:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=ADDRESS")
    return label, address
