"""Screens made of parts: a part has keys, actions and handlers of messages, and the screen hands it what is its own.

A part is a plain object that a screen (or the app) makes in its constructor and keeps as an attribute. It gets what it
needs by its own constructor. `BINDINGS` of a part stand next to what they do; `keys_of` gathers those of all parts for
the class of the screen, and `made_of` has the screen pass on its `action_...` and `on_...` to the part by that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from textual.binding import Binding, BindingType

Made = TypeVar("Made", bound=type)

PASSED_ON = ("action_", "on_")
"""How names of methods begin that a screen passes on: what keys do, and what messages do."""


def made_of(parts: Mapping[str, type]) -> Callable[[Made], Made]:
    """Has a class pass on actions and messages to `parts`, by the names of the attributes that hold them.

    Raises TypeError if two of them, or a part and the class itself, have the same one.
    """

    def made(owner: Made) -> Made:
        for attribute, part in parts.items():
            for name in dir(part):
                if name.startswith(PASSED_ON) and _goes_to(owner, name) != attribute:
                    if name in owner.__dict__:
                        raise TypeError(f"{owner.__name__}.{name} is not of the part {attribute!r} alone")
                    setattr(owner, name, _passing_on(attribute, name, getattr(part, name)))
        return owner

    return made


def _passing_on(attribute: str, name: str, of_part: Callable[..., Any]) -> Callable[..., Any]:
    # The framework looks at the signature: it leaves out arguments that are not wanted.
    @wraps(of_part)
    def pass_on(self: object, *arguments: object) -> Any:
        return getattr(getattr(self, attribute), name)(*arguments)

    pass_on.__dict__["goes_to"] = attribute
    return pass_on


def _goes_to(owner: type, name: str) -> str:
    """The part that has a method of the class already, perhaps by the class above it: a message shall come once."""
    found: str = getattr(getattr(owner, name, None), "goes_to", "")
    return found


def keys_of(parts: Mapping[str, type], own: Sequence[BindingType] = (), order: Sequence[str] = ()) -> list[BindingType]:
    """The bindings of a screen itself and of its parts: those named in `order` first, in this order, then the rest.

    It is the order in which the help and the list of all actions show them.
    """
    every: Iterable[BindingType] = (*own, *(one for part in parts.values() for one in getattr(part, "BINDINGS", ())))
    place = {name: at for at, name in enumerate(order)}
    return sorted(every, key=lambda one: place.get(_id(one), len(place)))


def _id(binding: BindingType) -> str:
    return (binding.id or "") if isinstance(binding, Binding) else ""
