"""Bytes that a frame sends to the terminal, in each preset: over a slow ssh connection they are what one waits for."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator

from tests.bench.report import Goal, Options, Table, Topic, number
from tests.bench.terminal import Terminal, shown

SIZES = ((80, 24), (120, 40), (200, 60), (240, 70))
PRESETS = "123456"
LIMIT = 8192
"""The most that a frame of a quiet host should take."""

PACE_S = 0.5
FRAMES, QUICK_FRAMES = 8, 4
COLOURS = {"truecolor": "24 bits", "": "256"}
"""What COLORTERM says, and how many colours are then sent."""


def measure(options: Options) -> Topic:
    """The made-up host, and this one if we may look at it."""
    frames = QUICK_FRAMES if options.quick else FRAMES
    sizes = SIZES[2:3] if options.quick else SIZES
    sources = {"made-up": "synthetic"} | ({"this host": "auto"} if not os.geteuid() else {})
    tables, data, goals = [], {}, []
    for title, source in sources.items():
        table = Table(
            f"Bytes a frame, {title}: median, most", ("size", "colours", *(f"preset {key}" for key in PRESETS))
        )
        worst = 0.0
        for size in sizes:
            for colorterm, colours in COLOURS.items():
                sent = dict(zip(PRESETS, per_preset(source, size, colorterm, frames), strict=True))
                cells = [f"{number(statistics.median(of))}, {number(max(of))}" if of else "-" for of in sent.values()]
                table.rows.append((f"{size[0]}x{size[1]}", colours, *cells))
                data[f"{title} {size[0]}x{size[1]} {colours}"] = sent
                worst = max(worst, *(statistics.median(of) for of in sent.values() if of))
        tables.append(table)
        goals.append(Goal(f"bytes a frame, {title}, the worst preset and size", worst or None, LIMIT, "bytes"))
    return Topic(tables, data, goals)


def per_preset(source: str, size: tuple[int, int], colorterm: str, frames: int) -> Iterator[list[int]]:
    """What the frames of each preset took."""
    command = [sys.executable, "-m", "schedtop", "--no-config", "--source", source, "--interval", str(PACE_S)]
    with shown(command, size, colorterm=colorterm) as terminal:
        terminal.painted.wait(30)
        for key in PRESETS:
            terminal.press(key)
            time.sleep(2 * PACE_S)  # until the change itself is drawn
            yield bursts(terminal, frames)


def bursts(terminal: Terminal, frames: int) -> list[int]:
    """The bytes of so many frames: each comes in one piece, with a pause behind it."""
    start = len(terminal.reads)
    time.sleep((frames + 0.5) * PACE_S)
    sizes: list[int] = []
    last = -PACE_S
    for when, count in terminal.reads[start:]:
        if when - last > PACE_S / 4:
            sizes.append(0)
        sizes[-1] += count
        last = when
    return sizes
