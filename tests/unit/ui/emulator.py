"""A terminal that understands what the painter sends, and an app whose output goes to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App

import schedtop.ui.app
from schedtop.ui.app import SchedtopApp

SCHEDTOP_CSS = Path(schedtop.ui.app.__file__).with_name("schedtop.tcss")

_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([^\x1b])", re.DOTALL)


class Emulator:
    """Text and style of each cell, from sequences."""

    def __init__(self, columns: int, lines: int) -> None:
        self.cells = [[("?", "?")] * columns for _ in range(lines)]
        self._pen: dict[str, str] = {}
        self._x = self._y = 0

    def feed(self, data: str) -> None:
        """Does what the sequences say; anything else than moves, styles and text is an error."""
        assert not _SEQUENCE.sub("", data), data
        for parameters, final, char in _SEQUENCE.findall(data):
            if char:
                self._put(char)
            elif final == "H":
                line, column = map(int, parameters.split(";"))
                self._x, self._y = column - 1, line - 1
            elif final == "C":
                self._x += int(parameters or 1)
            else:
                assert final == "m", final
                self._style(parameters)

    def _put(self, char: str) -> None:
        width = cell_len(char)
        if width == 0:
            text, style = self.cells[self._y][self._x - 1]
            self.cells[self._y][self._x - 1] = (text + char, style)
            return
        seen = self._pen
        if char == " ":  # has no foreground of its own, unless it is reversed or has a line
            seen = {name: code for name, code in seen.items() if name in ("bg", "at4", "at7", "at9")}
            seen |= {"fg": self._pen["fg"]} if len(seen) > ("bg" in seen) and "fg" in self._pen else {}
        style = ";".join(f"{name}{code}" for name, code in sorted(seen.items()))
        for place in range(width):
            self.cells[self._y][self._x + place] = (char if not place else "", style)
        self._x += width

    def _style(self, parameters: str) -> None:
        codes = (parameters or "0").split(";")
        while codes:
            code = codes.pop(0)
            if code in ("0", ""):
                self._pen = {}
            elif code in ("38", "48"):
                taken = 4 if codes[0] == "2" else 2
                self._pen["fg" if code == "38" else "bg"] = ";".join([code, *codes[:taken]])
                del codes[:taken]
            elif code == "22":
                self._pen.pop("at1", None)
                self._pen.pop("at2", None)
            elif code in ("39", "49"):
                self._pen.pop("fg" if code == "39" else "bg", None)
            elif int(code) in (1, 2, 3, 4, 5, 7, 9):
                self._pen["at" + code] = ""
            else:
                self._pen["fg" if int(code) // 10 in (3, 9) else "bg"] = code

    @property
    def lines(self) -> list[str]:
        """The text on the screen."""
        return ["".join(text for text, _ in line) for line in self.cells]


class Drawing(SchedtopApp):
    """The app without a terminal: what it would send is kept, and shown by an Emulator."""

    CSS_PATH = SCHEDTOP_CSS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sent: list[str] = []
        self.emulator: Emulator | None = None
        self.past_framework = 0
        """How often something was sent that the framework knows nothing of."""

    @property
    def is_painting(self) -> bool:
        return self.emulator is not None

    def send(self, sequences: str) -> None:
        assert self.emulator is not None
        self.past_framework += 1
        self.sent.append(sequences)
        self.emulator.feed(sequences)

    def _display(self, screen: Any, renderable: Any) -> None:
        self.surface.flush()
        if isinstance(renderable, ChopsUpdate | LayoutUpdate) and self.screen is screen:
            size = self.size
            if self.emulator is None or (len(self.emulator.cells[0]), len(self.emulator.cells)) != size:
                self.emulator = Emulator(*size)
            self.sent.append(self._painter.paint(renderable, (size.width, size.height)))
            self.emulator.feed(self.sent[-1])
        App._display(self, screen, None)
