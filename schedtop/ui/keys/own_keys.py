"""The user's own keys: which actions there are, what a key is called, and which keys two actions would share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, Keys
from textual.screen import Screen
from textual.widget import Widget

from schedtop.base.spelling import nearest
from schedtop.ui.keys.app_keys import APP_KEYS
from schedtop.ui.keys.bindings import KEY_TEXT, NO_KEY
from schedtop.ui.screens.catalog import PLACES, Place

FIXED = {"ctrl+c": "interrupt", "ctrl+z": "suspend"}
"""Keys that stay what they are, so that there always is a way out."""

MODIFIERS = ("ctrl", "alt", "shift", "meta", "super", "hyper")

ALIASES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "spacebar": "space",
    "backtab": "shift+tab",
}


@dataclass(frozen=True, slots=True)
class Action:
    """What a key does, by its name. `ids`: the bindings that it is; `keys`: its default ones where it comes first."""

    name: str
    ids: tuple[str, ...]
    keys: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Keymap:
    """The user's keys that hold. `by_id` is textual's keymap; `written` is by the names of actions, for people."""

    by_id: Mapping[str, str]
    written: Mapping[str, str]
    problems: tuple[str, ...]


def _own(owner: type[DOMNode]) -> list[Binding]:
    """The bindings that a class declares itself and that may be changed."""
    declared = owner.__dict__.get("BINDINGS", ()) if owner.__module__.startswith("schedtop.") else ()
    return [one for one in declared if _is_free(one)]


def _is_free(binding: BindingType) -> TypeGuard[Binding]:
    """Whether its keys may be changed."""
    return isinstance(binding, Binding) and bool(binding.id) and _name(binding) not in FIXED.values()


def _name(binding: Binding) -> str:
    return (binding.id or "").rpartition(".")[2].replace("_", "-")


def _keys(binding: Binding) -> tuple[str, ...]:
    return tuple(key.strip() for key in binding.key.split(","))


def _lists(place: Place) -> Iterator[list[list[Binding]]]:
    """What can have a key on a screen (itself, its panes, the app): for each the bindings of each of its classes."""
    for part in place:
        yield [_own(owner) for owner in part.__mro__ if issubclass(owner, (Screen, Widget))]
    yield [[one for one in APP_KEYS if _is_free(one)]]


def _by_key(owners: Sequence[Sequence[Binding]]) -> dict[str, list[Binding]]:
    """The bindings of some classes, by key: that of an earlier class takes a key from a later one."""
    found: dict[str, list[Binding]] = {}
    for bindings in reversed(owners):
        own: dict[str, list[Binding]] = {}
        for binding in bindings:
            for key in _keys(binding):
                own.setdefault(key, []).append(binding)
        found |= own
    return found


@cache
def default_keys() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """For each screen, by its name: the default keys by the names of its actions."""
    places = {}
    for where, place in PLACES.items():
        keys: dict[str, set[str]] = {}
        for owners in _lists(place):
            for key, bindings in _by_key(owners).items():
                for binding in bindings:
                    keys.setdefault(_name(binding), set()).add(key)
        places[where] = {name: frozenset(found) for name, found in keys.items()}
    return places


@cache
def actions() -> Mapping[str, Action]:
    """Every action with keys that may be changed, in the order of the screens."""
    found: dict[str, list[Binding]] = {}
    for place in PLACES.values():
        for owners in _lists(place):
            for bindings in owners:
                for binding in bindings:
                    found.setdefault(_name(binding), []).append(binding)
    return {
        name: Action(
            name,
            tuple(dict.fromkeys(one.id or "" for one in same)),
            _keys(same[0]),
            same[0].tooltip or same[0].description,
        )
        for name, same in found.items()
    }


def key_named(text: str) -> str:
    """Textual's name of a key in the user's words: `space`, `F5`, `?`, `Ctrl+S`. Raises ValueError with the nearest."""
    if text.endswith("+"):
        parts = [*text[:-2].split("+"), "+"] if text.endswith("++") else [""] * (len(text) - 1) + ["+"]
    else:
        parts = text.split("+")
    modifiers, last = [part.lower() for part in parts[:-1]], parts[-1]
    if wrong := [modifier for modifier in modifiers if modifier not in MODIFIERS]:
        raise ValueError(f"{text!r} is no key: {wrong[0]!r} is none of {', '.join(MODIFIERS[:3])}")
    if len(last) == 1 and last.isalpha():
        if modifiers == ["shift"]:
            # Terminals send the large letter.
            return last.upper()
        return "+".join([*sorted(modifiers), last.lower() if modifiers else last])
    return "+".join([*sorted(modifiers), _named(last)])


def _named(text: str) -> str:
    """The name of a key without modifiers. Raises ValueError."""
    low = text.lower()
    by_text = {shown.lower(): name for name, shown in KEY_TEXT.items()}
    name = ALIASES.get(low) or by_text.get(low) or (_character(text) if len(text) == 1 else low)
    known = {key.value for key in Keys} | KEY_TEXT.keys() | set(KEY_NAME_REPLACEMENTS.values())
    if not (name in known or (len(text) == 1 and text.isprintable())):
        raise ValueError(f"{text!r} is no key{nearest(low, sorted({*known, *ALIASES}))}")
    return name


def _character(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name or character)


def split_keys(text: str) -> list[str]:
    """The keys in a text: separated by commas or blanks; a comma alone is that key."""
    return [key for word in text.split() for key in ([","] if word == "," else word.split(",")) if key]


def make_keymap(bindings: Mapping[str, str]) -> Keymap:
    """The keymap of what the user wrote, and what of it does not hold, a line each.

    A key that another action has on the same screen stays that action's, unless the user gives that one other keys.
    """
    wanted: dict[str, list[str]] = {}
    problems = []
    for name, text in bindings.items():
        if name not in actions():
            problems.append(f"keys: unknown action {name!r}{nearest(name, actions())}")
            continue
        keys = []
        for key in split_keys(text):
            try:
                named = key_named(key)
            except ValueError as error:
                problems.append(f"keys.{name}: {error}")
                continue
            if named in FIXED:
                problems.append(f"keys.{name}: {key} always means {FIXED[named]}")
            elif named not in keys:
                keys.append(named)
        if keys or not split_keys(text):
            wanted[name] = keys
    while (clash := _clash(wanted)) is not None:
        name, key, other, where = clash
        shown = KEY_TEXT.get(key, key)
        problems.append(f"keys.{name}: {shown} is the key of {other} ({where}): give that one another key first")
        wanted[name].remove(key)
        if not wanted[name]:
            del wanted[name]
    return Keymap(
        {id: ",".join(keys) or NO_KEY for name, keys in wanted.items() for id in actions()[name].ids},
        {name: written_keys(keys) for name, keys in wanted.items()},
        tuple(problems),
    )


def _clash(wanted: Mapping[str, list[str]]) -> tuple[str, str, str, str] | None:
    """The last of the user's actions that takes a key of another one: its name, the key, the other, the screen."""
    for name in reversed([*wanted]):
        for where, place in default_keys().items():
            for key in wanted[name] if name in place else ():
                for other, defaults in place.items():
                    has = key in wanted.get(other, defaults)
                    # What they share by default is meant so: one is a pane's, for while it has the focus.
                    shared = key in place[name] and key in defaults
                    if other != name and has and not shared:
                        return name, key, other, where
    return None


def written_keys(keys: Iterable[str]) -> str:
    """Keys as they are written in the config."""
    return ",".join("comma" if key == "comma" else _written(key) for key in keys)


def _written(key: str) -> str:
    shown = KEY_TEXT.get(key, key)
    # Arrows and the like are named; a sign of the keyboard stands for itself.
    return shown if len(shown) == 1 and shown.isascii() and shown != "," else key
