"""Bindings as rows for the key bar and the help: one declaration, where the action lives, is all there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.binding import Binding, BindingType

from schedtop.ui.terminal.textual_private import keymap_of

NO_KEY = "no-key"
"""What textual is told for an action from which a config took all keys: no terminal sends it."""

KEY_TEXT = {
    NO_KEY: "–",
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
    "backslash": "\\",
}

FUNCTION_KEY = re.compile(r"f\d+")

BAR_ORDER = (
    *("help", "back", "verdict", "quit", "freeze", "filter", "search", "sort", "palette", "open"),
    *("group", "columns", "window", "off-cpu", "activity", "path", "record", "export", "zoom", "triggers"),
)
"""The actions that stand in the key bar, as their users need them; as many as fit."""

NO_KEYMAP: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One action with all its keys. `name` is the binding's id: what a config rebinds."""

    keys: str
    word: str
    meaning: str
    action: str
    shown: bool
    name: str = ""

    @property
    def first_key(self) -> str:
        """The key that is told where there is room for one only."""
        return self.keys.split()[0]


def key_text(key: str) -> str:
    """A key as it stands on the keyboard."""
    if (text := KEY_TEXT.get(key)) is not None:
        return text
    if key.startswith("ctrl+"):
        return f"Ctrl+{key.removeprefix('ctrl+').upper()}"
    return key.upper() if FUNCTION_KEY.fullmatch(key) else key


def key_rows(bindings: Iterable[BindingType], keymap: Mapping[str, str] = NO_KEYMAP) -> list[KeyRow]:
    """The rows of some bindings, in the order of their declaration, with the keys in force."""
    rows = []
    for binding in bindings:
        if isinstance(binding, Binding):
            chosen = keymap.get(binding.id or "") or binding.key
            keys = " ".join(key_text(key.strip()) for key in chosen.split(","))
            rows.append(
                KeyRow(keys, binding.description, binding.tooltip, binding.action, binding.show, binding.id or "")
            )
    return rows


def together(app: App[Any], keys: Mapping[str, str], usual: str = "") -> str:
    """The keys of several actions, by their names, as they stand side by side; `usual`: shorter, if they are these."""
    keymap = keymap_of(app)
    if not keymap.keys() & keys.keys():
        return usual or " ".join(keys.values())
    return " ".join(key_text(keymap[name].split(",")[0]) if name in keymap else key for name, key in keys.items())


def in_bar_order(rows: Iterable[KeyRow]) -> list[KeyRow]:
    """Those that are shown in a key bar, the most needed one first."""
    shown = [row for row in rows if row.shown]
    return sorted(shown, key=lambda row: BAR_ORDER.index(row.name) if row.name in BAR_ORDER else len(BAR_ORDER))


def key(
    keys: str,
    action: str,
    word: str,
    meaning: str,
    *,
    name: str = "",
    shown: bool = False,
    priority: bool = False,
) -> Binding:
    """A binding: `word` stands in the key bar if it is `shown`, `meaning` in the help.

    Its id is `name`, else the word: it is what a config rebinds, so it stays what it is, and the same action has the
    same id on every screen that has it.
    """
    return Binding(keys, action, word, show=shown, priority=priority, tooltip=meaning, id=name or named(word))


def named(word: str) -> str:
    """An id made of a word."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
