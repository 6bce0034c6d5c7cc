"""The keyboard's thread, which sleeps until something is typed; textual's own looks ten times a second."""

from __future__ import annotations

import os
import select
import threading
from codecs import getincrementaldecoder

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from schedtop.ui.terminal.textual_private import XTermParser

LOOK_S = 0.05
LOOKS = 8
"""How often, and how many times after something was typed, a sequence is looked at that has not come to its end: Escape
alone is one."""

READ_BYTES = 4096
CLEAR = "\x1b[2J"


class Bell(threading.Event):
    """An event that a thread can wait for together with a file: `fileno` is readable once it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._end, self._begin = os.pipe()
        os.set_blocking(self._end, False)

    def fileno(self) -> int:
        """What to wait for."""
        return self._end

    def set(self) -> None:
        super().set()
        os.write(self._begin, b"!")

    def clear(self) -> None:
        super().clear()
        if select.select([self._end], [], [], 0)[0]:
            os.read(self._end, READ_BYTES)


class QuietDriver(LinuxDriver):
    """textual's driver for terminals, without looking at the keyboard when nothing is typed."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.exit_event: Bell = Bell()
        self.has_input = False
        """Whether a key or a click is on its way to the app, which takes this back."""

    def run_input_thread(self) -> None:
        """Reads until the bell rings."""
        parser = XTermParser(False)
        decode = getincrementaldecoder("utf-8")().decode
        looks = 0
        while not self.exit_event.is_set():
            ready = select.select([self.fileno, self.exit_event], [], [], LOOK_S if looks else None)[0]
            looks = max(0, looks - 1)
            if self.fileno in ready:
                looks = LOOKS
                data = os.read(self.fileno, READ_BYTES)
                if not data:
                    # The terminal has gone: it would be ready for ever.
                    self.exit_event.wait(2 * LOOK_S)
                for message in parser.feed(decode(data)) if data else ():
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def stop_application_mode(self) -> None:
        # After a window that grew, tmux puts the second screen's upper lines above the shell's.
        self.write(CLEAR)
        super().stop_application_mode()

    def send_message(self, message: Message) -> None:
        if isinstance(message, events.Key | events.MouseDown | events.Paste):
            self.has_input = True
        super().send_message(message)


def end_keyboard(driver: object) -> None:
    """Ends the keyboard's thread, however the app came to its end: when the terminal vanishes, nothing else may."""
    if isinstance(driver, QuietDriver):
        driver.exit_event.set()
