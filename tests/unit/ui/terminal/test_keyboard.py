"""The keyboard's thread wakes up for keys, and when it is to end."""

from __future__ import annotations

import os
import select
import threading

from schedtop.ui.terminal.keyboard import Bell, QuietDriver, end_keyboard


def is_heard(bell: Bell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])


def test_a_bell_is_heard_until_it_is_taken_back() -> None:
    bell = Bell()
    assert not is_heard(bell)
    bell.set()
    bell.set()
    assert bell.is_set()
    assert is_heard(bell)
    bell.clear()
    assert not bell.is_set()
    assert not is_heard(bell)


def test_the_keyboard_of_a_terminal_that_vanished_can_be_ended() -> None:
    driver = QuietDriver.__new__(QuietDriver)  # of its own it needs an app and a terminal
    driver.exit_event = Bell()
    driver.fileno, other_end = os.pipe()
    os.close(other_end)
    thread = threading.Thread(target=driver.run_input_thread, daemon=True)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    end_keyboard(driver)
    thread.join(30)
    assert not thread.is_alive()
    os.close(driver.fileno)
