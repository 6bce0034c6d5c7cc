"""The scenes of docs/rules.md: their recordings have the verdicts that the page shows, and it shows what was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedtop.panes.verdict_band import verdict_band
from schedtop.sources.replay.recorded import Recording
from tests import ROOT
from tests.scenes.draw import RECORDINGS
from tests.scenes.rules import AFTER, BEFORE, IN_GROUP, IN_SESSION, LOOP, RULES_SCENES, RulesScene, told, verdict_on
from tests.unit.scenes.known_names import assert_known_names

PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
EACH_SCENE = pytest.mark.parametrize("scene", RULES_SCENES, ids=lambda scene: scene.name)


def recording(scene: RulesScene) -> Path:
    return ROOT / RECORDINGS / f"{scene.name}.rec.gz"


def section(scene: RulesScene) -> str:
    (found,) = [part for part in SECTIONS.values() if f"recordings/{scene.name}.rec.gz" in part]
    return found


@EACH_SCENE
def test_following_the_verdict_removes_its_cause(scene: RulesScene) -> None:
    before, after = (verdict_on(recording(scene), scene, span) for span in (BEFORE, AFTER))
    assert before.rule == scene.rule
    assert before.command and before.command in before.action
    assert after.rule != scene.rule


@EACH_SCENE
def test_page_shows_the_verdicts_of_a_scene_and_how_it_is_made(scene: RulesScene) -> None:
    lines = set(map(str.strip, section(scene).splitlines()))
    for span in (BEFORE, AFTER):
        missing = [line for line in told(verdict_on(recording(scene), scene, span)).splitlines()
                   if line.strip() not in lines]  # fmt: skip
        assert not missing
    assert {line.strip() for line in scene.commands.splitlines()} <= lines
    assert f"--from {BEFORE[0]}s --to {BEFORE[1]}s" in section(scene)


@pytest.mark.parametrize("width", [80, 120, 160])
@EACH_SCENE
def test_verdict_and_its_command_are_whole_in_two_lines(scene: RulesScene, width: int) -> None:
    verdict = verdict_on(recording(scene), scene, BEFORE)
    band = verdict_band(verdict, width - 2, "v")
    shown = " ".join("".join(part for part, _ in line) for line in band)
    assert verdict.headline in " ".join(shown.split())
    assert verdict.command in shown


def test_page_shows_the_functions_of_the_scenes() -> None:
    shown = set(map(str.strip, PAGE.splitlines()))
    assert {line.strip() for function in (LOOP, IN_GROUP, IN_SESSION) for line in function.splitlines()} <= shown


@EACH_SCENE
def test_recordings_of_rules_hold_only_known_names(scene: RulesScene) -> None:
    with Recording(recording(scene)) as recorded:
        assert_known_names(recorded, scene.kept, scene.cgroups)
