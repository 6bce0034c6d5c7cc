"""Numbers in rows that stand for words: the word is what recordings, JSON and the screen have."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class Labeled(IntEnum):
    """A number in a row, and the word for it; its members are numbered from 0."""

    label: str

    def __new__(cls, number: int, label: str) -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        member.label = label
        return member

    @classmethod
    def known(cls, number: int) -> Self | None:
        """The member of a number, `None` where a later version wrote it."""
        return cls._value2member_map_.get(number)  # type: ignore[return-value]
