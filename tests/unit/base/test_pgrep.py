"""The tids of all tasks of a name, for the shell."""

import re
import shlex

import pytest

from schedtop.base.pgrep import pgrep_words


@pytest.mark.parametrize(
    ("comm", "words"),
    [
        ("stress-ng-fork", "$(pgrep -wx stress-ng-fork)"),
        ("kworker/u8:2", "$(pgrep -wx kworker/u8:2)"),
        ("monitor.sh", r"$(pgrep -wx 'monitor\.sh')"),
        ("Web Content", "$(pgrep -wx 'Web Content')"),
        ("-f", "$(pgrep -wx -- -f)"),
    ],
)
def test_only_special_characters_are_escaped(comm: str, words: str) -> None:
    assert pgrep_words(comm) == words


def test_pattern_of_any_name_matches_that_name_alone() -> None:
    for code in range(32, 127):
        comm = f"a{chr(code)}b"
        (pattern,) = shlex.split(pgrep_words(comm).removeprefix("$(pgrep -wx ").removesuffix(")"))
        assert re.fullmatch(pattern, comm), comm
        assert not re.fullmatch(pattern, "aab") or comm == "aab", comm
