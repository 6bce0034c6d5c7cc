"""What the kernel kept from programs, asked of them all or of one after the other."""

from types import SimpleNamespace
from typing import Any

from schedtop.sources.kernel.loader import Loader


class Missing(Loader):
    """Three programs with misses that are set here."""

    def __init__(self) -> None:
        self._hooks: dict[str, Any] = dict.fromkeys(("a", "b", "c"))
        self._missed, self._turns = {}, iter(("a", "b", "c"))
        self.known, self.asked = dict.fromkeys(self._hooks, 1), ""

    def _info(self, name: str) -> Any:
        self.asked += name
        return SimpleNamespace(misses=lambda: self.known[name])


def test_misses_are_asked_of_every_program() -> None:
    programs = Missing()
    assert programs.misses() == programs.misses() == 3
    assert programs.asked == "abcabc"


def test_misses_by_turns_ask_one_program_and_remember_the_others() -> None:
    programs = Missing()
    assert programs.misses(by_turns=True) == 3
    programs.known = dict.fromkeys(programs.known, 5)
    assert [programs.misses(by_turns=True) for _ in range(3)] == [7, 11, 15]
    assert programs.asked == "abcabc"
