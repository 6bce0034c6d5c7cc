"""Which source `auto` is, and what is said of it."""

import threading

import pytest

from schedtop.model.host import Host
from schedtop.model.source import NotPermitted, SourceError
from schedtop.sources import choice
from schedtop.sources.choice import REFUSED, WITHOUT, AutoSource
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


class Failing(SyntheticSource):
    """A source that does not open."""

    def __init__(self, error: SourceError) -> None:
        super().__init__()
        self.error = error

    def __enter__(self) -> "Failing":
        raise self.error


def second() -> SyntheticSource:
    source = SyntheticSource(Scenario(frames=1))
    source.host = Host("second", "6.18.0", "proc")
    return source


@pytest.mark.parametrize("beforehand", [True, False])
def test_user_without_rights_gets_the_second_source(beforehand: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known beforehand, or only when the kernel says no."""
    said: list[str] = []
    monkeypatch.setattr(choice, "may_load_programs", lambda: not beforehand)
    first = Failing(SourceError("never tried") if beforehand else NotPermitted("it is locked"))
    made = AutoSource(first, second, said.append)
    made.set_threshold(7)
    with made as source:
        assert source.host.name == "second"
        assert next(iter(source.frames(threading.Event()))).threshold_ns == 7, "what was asked before holds"
        assert source.host.notes == (() if beforehand else (REFUSED,))
    assert said == [WITHOUT if beforehand else "--source proc, because it is locked"]


def test_any_other_failure_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "may_load_programs", lambda: True)
    with pytest.raises(SourceError, match=r"^no bcc; --source proc shows what /proc tells$"):
        AutoSource(Failing(SourceError("no bcc")), second, print).__enter__()


def test_user_with_rights_gets_the_first_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "may_load_programs", lambda: True)
    said: list[str] = []
    first = SyntheticSource(Scenario(frames=1))
    with AutoSource(first, second, said.append) as source:
        source.set_threshold(7)
        assert source.host is first.host
        assert first.threshold_ns == 7
    assert not said
