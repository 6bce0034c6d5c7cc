"""Bindings as rows for the key bar and the help: one declaration, where the action lives, is all there is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding, BindingType

KEY_TEXT = {
    "space": "Space",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "shift+left": "Shift+←",
    "shift+right": "Shift+→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "enter": "Enter",
    "escape": "Esc",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "underscore": "_",
    "comma": ",",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "dollar_sign": "$",
    "colon": ":",
    "shift+home": "Shift+Home",
    "shift+end": "Shift+End",
    "f1": "F1",
    "ctrl+c": "Ctrl+C",
    "ctrl+z": "Ctrl+Z",
}


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One action with all its keys."""

    keys: str
    word: str
    meaning: str
    action: str
    shown: bool


def key_rows(bindings: Iterable[BindingType]) -> list[KeyRow]:
    """The rows of some bindings, in the order of their declaration."""
    rows = []
    for binding in bindings:
        if isinstance(binding, Binding):
            keys = " ".join(KEY_TEXT.get(key, key) for key in binding.key.split(","))
            rows.append(KeyRow(keys, binding.description, binding.tooltip, binding.action, binding.show))
    return rows


def key(keys: str, action: str, word: str, meaning: str, *, shown: bool = False, priority: bool = False) -> Binding:
    """A binding whose id is its word: `word` stands in the key bar if it is `shown`, `meaning` in the help."""
    name = re.sub(r"[^a-z0-9]+", "-", word.lower())
    return Binding(keys, action, word, show=shown, priority=priority, tooltip=meaning, id=f"schedtop.{name}")
