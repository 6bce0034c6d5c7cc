"""The dashboard with a config: how it begins, own keys, what is remembered, and the hint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedtop.commands.preferences import preferences_of, preferred, view_choices
from schedtop.config.load import Config
from schedtop.config.schema import KEYS, Choice
from schedtop.history.view import ViewSettings
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.ui.app import SchedtopApp
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.own_keys import actions, default_keys, key_named, make_keymap, split_keys, written_keys
from schedtop.ui.preferences import NO_PREFERENCES, Preferences
from schedtop.ui.problems import problem_words
from schedtop.ui.screens.dashboard.hint import WORDS, Hint
from tests.unit.ui.drive import GivenSource, collected

MINE = preferences_of(Config())


def app_with(preferences: Preferences) -> tuple[SchedtopApp, GivenSource]:
    source = GivenSource()
    return SchedtopApp(source, preferences=preferences), source


def test_every_choice_of_the_view_is_a_setting_and_comes_back() -> None:
    for key in KEYS:
        if key.setting:
            assert isinstance(key.kind, Choice)
            for word in key.kind.meant.values():
                settings = preferred(ViewSettings(), Config(values={key.name: word}))
                assert view_choices(settings)[key.name] == word
    assert preferred(ViewSettings(), Config()) == ViewSettings()


def bar_text(app: SchedtopApp) -> str:
    return "".join(text for line in app.dashboard.query_one(KeyBar)._lines for text, _ in line)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("space", "space"),
        ("Space", "space"),
        ("F5", "f5"),
        ("PgUp", "pageup"),
        ("esc", "escape"),
        ("?", "question_mark"),
        ("@", "at"),
        ("+", "plus"),
        ("S", "S"),
        ("shift+s", "S"),
        ("Ctrl+S", "ctrl+s"),
        ("shift+left", "shift+left"),
        ("comma", "comma"),
        ("←", "left"),
    ],
)
def test_keys_are_named_as_people_write_them(written: str, name: str) -> None:
    assert key_named(written) == name


@pytest.mark.parametrize("written", ["spcae", "f5x", "strg+s", "+x", "ctrl+"])
def test_unknown_key_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        key_named(written)


def test_default_keys_are_written_so_that_they_are_read_again() -> None:
    for action in actions().values():
        assert tuple(map(key_named, split_keys(written_keys(action.keys)))) == action.keys, action.name


def test_a_key_of_another_action_is_told_and_stays_where_it_was() -> None:
    keymap = make_keymap({"freeze": "z,f9", "fleeze": "a", "verdict": "spcae", "window": "ctrl+c"})
    assert keymap.written == {"freeze": "f9"}
    assert len(keymap.problems) == 4
    assert any("freeze: z is the key of zoom" in problem for problem in keymap.problems)
    assert any("did you mean 'freeze'?" in problem for problem in keymap.problems)
    assert any("did you mean 'space'?" in problem for problem in keymap.problems)


def test_an_action_that_is_on_several_screens_has_one_name() -> None:
    places = default_keys()
    assert {*places} == {"dashboard", "dashboard with --on", "replay", "task view", "off-CPU", "path", "activity"}
    assert all({"freeze", "help", "theme", "up", "zoom"} <= place.keys() for place in places.values())


def test_two_actions_can_change_keys() -> None:
    keymap = make_keymap({"verdict": "w", "window": "v"})
    assert not keymap.problems and keymap.written == {"verdict": "w", "window": "v"}
    # The first one keeps what both want.
    keymap = make_keymap({"verdict": "f9", "window": "f9"})
    assert keymap.written == {"verdict": "f9"} and len(keymap.problems) == 1


async def test_own_keys_work_and_are_shown() -> None:
    app, source = app_with(replace(MINE, bindings={"freeze": "f9 A", "verdict": "w", "window": "v", "sort": ""}))
    async with app.run_test(size=(160, 40)) as pilot:
        dashboard = await collected(pilot, source, 2)
        assert "F9 Freeze" in bar_text(app)
        assert "– Sort" in bar_text(app)
        await pilot.press("space")
        assert not dashboard.timeline.is_frozen
        await pilot.press("f9")
        assert dashboard.timeline.is_frozen
        await pilot.press("A", "v", "s")
        assert not dashboard.timeline.is_frozen
        assert app.screen is dashboard
        assert dashboard.timeline.settings.window_ns == 10_000_000_000
        assert dashboard.timeline.settings.task_sort == "run_delay_ns"


async def test_keys_that_stand_together_are_the_users() -> None:
    app, source = app_with(replace(MINE, bindings={"preset-2": "f9", "next-pane": "N"}))
    async with app.run_test(size=(160, 40)) as pilot:
        dashboard = await collected(pilot, source, 1)
        assert "1 Overview  F9 Latency  3 Blame" in bar_text(app)
        await pilot.press("f9")
        assert dashboard.pane_layout.preset.number == 2


async def test_own_keys_are_letters_where_text_is_typed() -> None:
    app, source = app_with(replace(MINE, bindings={"help": "H", "freeze": "X"}))
    async with app.run_test(size=(120, 40)) as pilot:
        dashboard = await collected(pilot, source, 2)
        dashboard.action_filter()
        await pilot.pause()
        await pilot.press("H", "X")
        assert app.screen is dashboard and not dashboard.timeline.is_frozen
        assert dashboard.timeline.settings.filter.comms == ("HX",)


async def test_dashboard_follows_the_config_and_remembers_changes_by_keys() -> None:
    app, source = app_with(replace(MINE, preset="blame", measure="steal", measure_strips="queue", cpu_form="list"))
    async with app.run_test(size=(120, 40)) as pilot:
        dashboard = await collected(pilot, source, 2)
        assert dashboard.pane_layout.preset.word == "Blame"
        cpus, strips = dashboard.query_one(CpusPane), dashboard.query_one(CpuStripsPane)
        assert cpus.measure and (cpus.measure.key, strips.measure.key, cpus.form) == ("steal", "queue", "list")
        await pilot.press("5", "w", "t", "s", "plus", "g", "G")
        await pilot.pause()
        await pilot.press("q")
    assert app.return_code == 0
    assert app.changes == {
        "preset": "tasks",
        "theme": "light",
        "window": "10s",
        "sort_tasks": "longest wait",
        "threshold": "10ms",
    }


@pytest.mark.parametrize(("key", "remember"), [("ctrl+c", True), ("q", False)])
async def test_preferences_are_not_remembered_unasked(key: str, remember: bool) -> None:
    app, source = app_with(replace(MINE, remember=remember))
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 1)
        await pilot.press("w", key)
    assert app.changes == {}


async def test_the_hint_goes_with_the_first_key_and_covers_nothing() -> None:
    app, source = app_with(replace(NO_PREFERENCES, hint=True))
    async with app.run_test(size=(80, 24)) as pilot:
        dashboard = await collected(pilot, source, 1)
        hint = dashboard.query_one(Hint)
        assert hint.display and hint.size.height == len(WORDS)
        lines = ["".join(text for text, _ in line) for line in hint._lines]
        assert len(lines) == 3 and all(0 < len(line) <= 78 for line in lines)
        assert all(pane.region.bottom <= hint.region.y for pane in dashboard.pane_layout.panes if not pane.hidden)
        await pilot.press("down")
        await pilot.pause()
        assert not hint.display
        await pilot.press("ctrl+c")
    # It is never shown again, however it ended and whatever else is remembered.
    assert app.changes == {"hint": False}


def test_the_hint_names_actions_that_there_are() -> None:
    keys = {"", "1-6", "← →"}
    assert {name for line in WORDS for name, _ in line} - keys <= actions().keys()


async def test_dashboard_without_a_config_shows_no_hint() -> None:
    app, source = app_with(NO_PREFERENCES)
    async with app.run_test(size=(80, 24)) as pilot:
        dashboard = await collected(pilot, source, 1)
        assert not dashboard.query_one(Hint).display


async def test_problems_of_the_config_are_on_the_screen() -> None:
    app, source = app_with(replace(MINE, problems=("it is [wrong]",), bindings={"frieze": "x"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 1)
        (message,) = [one.message for one in app._notifications]
        assert message.startswith("it is [wrong]\n") and "did you mean 'freeze'" in message


def test_many_problems_are_told_in_a_few_lines() -> None:
    assert problem_words(["a"] * 5) == "a\na\na\nand 2 more: schedtop config"


def test_the_command_prints_it_and_says_what_is_wrong(tmp_path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    from schedtop.cli import main

    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["config"]) == 0
    whole = capfd.readouterr().out
    (tmp_path / "schedtop").mkdir()
    file = tmp_path / "schedtop" / "config.toml"
    file.write_text(whole)
    assert main(["config"]) == 0
    assert capfd.readouterr().err == ""
    file.write_text('widnow = "10s"\n[keys]\nfrezee = "x"\n')
    assert main(["config"]) == 1
    _out, err = capfd.readouterr()
    assert len(err.splitlines()) == 2 and "'window'" in err and "'freeze'" in err
    assert main(["config", "--no-config"]) == 0
    assert main(["config", "--path"]) == 0
    assert capfd.readouterr().out.endswith(f"{file}\n")
