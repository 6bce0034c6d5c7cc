"""The config file: what is read from it, what is said of what is wrong, and how choices get into it."""

from __future__ import annotations

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schedtop.cli import commands
from schedtop.cli.options import source_options
from schedtop.commands.grouping import GROUP_NAMES, group_of
from schedtop.commands.preferences import fill
from schedtop.config.load import Config, load_config, parse_config
from schedtop.config.place import ConfigError, config_path
from schedtop.config.save import remember, with_choices
from schedtop.config.schema import BY_NAME, KEYS, MOST_BYTES, duration_ns
from schedtop.config.text import ActionLine, config_text
from schedtop.history.view import ViewSettings
from schedtop.model.rows import GROUPS
from schedtop.ui.keys.own_keys import make_keymap
from schedtop.ui.screens.dashboard.timeline import WINDOWS_NS
from tests import ROOT

DOCS = ROOT / "docs" / "config.md"
PATH = Path("/home/ann/.config/schedtop/config.toml")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with the place for a config file."""
    for name in ("XDG_CONFIG_HOME", "SUDO_UID", "SUDO_GID", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config" / "schedtop").mkdir(parents=True)
    return tmp_path


def file_in(home: Path) -> Path:
    return home / ".config" / "schedtop" / "config.toml"


def test_every_default_is_a_value_of_its_key() -> None:
    for key in KEYS:
        assert key.kind.read(key.default) == key.default, key.name


def test_defaults_are_those_of_the_program() -> None:
    config, settings = Config(), ViewSettings()
    assert config.ns("window") == settings.window_ns
    assert (config.text("group"), config.text("blame")) == (settings.group, settings.blame)
    assert {*map(duration_ns, ("1s", "10s", "60s"))} == {*WINDOWS_NS}
    assert len(GROUP_NAMES) == len(GROUPS)
    options = {option.name: option for option in source_options(lambda: None).__click_params__}
    kind, times = options["threshold"].type, BY_NAME["threshold"].kind
    assert (kind.least_ns, kind.most_ns) == (times.least_ns, times.most_ns)
    assert options["threshold"].default == config.ns("threshold")


def test_config_keeps_right_settings_and_reports_others_a_line_each() -> None:
    config = parse_config(
        'theme = "light"\nthem = 1\nwindow = "2s"\nthreshold = "5"\nhide_self = 1\nsort_tasks = "Run Time"\n'
        'keys.freeze = ["f5", "space"]\nkeys.zoom = 3\n[colours]\nred = 1\n',
        PATH,
    )
    assert config.values == {"theme": "light", "sort_tasks": "run time"}
    assert config.bindings == {"freeze": "f5 space"}
    assert config["window"] == "1s"
    assert len(config.problems) == 6
    assert all(problem.startswith(f"{PATH}: ") and "\n" not in problem for problem in config.problems)
    assert "unknown key 'them': did you mean 'theme'?" in config.problems[0]
    assert 'window = \'2s\': it takes "1s", "10s", "60s"; the default holds (1s)' in config.problems[1]


BROKEN = ("theme = ", "= 1", "a = " + "[" * 5000, 'theme = "dark"\ntheme = "light"', "a = " + "1" * 5000)


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_toml_is_one_problem_and_the_defaults_hold(text: str) -> None:
    config = parse_config(text, PATH)
    assert not config.values and config.exists
    assert len(config.problems) == 1 and config.problems[0].endswith("the defaults hold")


def test_config_problems_are_printable() -> None:
    text = (
        "theme = 0x"
        + "f" * 9000
        + '\n"\\u001b[31m" = 1\n[keys]\n"\\u001b]0;x\\u0007" = 1\n"\\u009b" = "x"\nzoom = "\\u001b"\n'
    )
    config = parse_config(text, PATH)
    problems = (*config.problems, *make_keymap(config.bindings).problems)
    assert len(problems) == 5 and all(problem.isprintable() for problem in problems)


def test_a_file_that_cannot_be_read_is_one_problem(home: Path) -> None:
    path = file_in(home)
    for make, words in (
        (lambda: path.mkdir(), "not a regular file"),
        (lambda: os.mkfifo(path), "not a regular file"),
        (lambda: path.write_bytes(b"# \xff"), "not UTF-8"),
        (lambda: path.write_bytes(b"#" * (MOST_BYTES + 1)), "larger than"),
        (lambda: path.symlink_to(path), "symbolic links"),
    ):
        make()
        config = load_config()
        assert not config.values and len(config.problems) == 1, words
        assert words in config.problems[0] and str(path) in config.problems[0]
        path.rmdir() if path.is_dir() else path.unlink()
    assert load_config() == Config(path)
    assert load_config(wanted=False) == Config()


def test_the_place_follows_xdg(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_path() == file_in(home)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert config_path() == Path("/elsewhere/schedtop/config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_path() == file_in(home)


def test_options_come_before_the_file_and_the_file_before_defaults() -> None:
    config = parse_config('threshold = "2ms"\ninterval = "2s"\ngroup = "cgroup"\nhide_self = true', PATH)
    context = commands.make_context("schedtop", ["--threshold", "5ms", "--group", "pidns"])
    options = dict(context.params)
    fill(options, context, config)
    assert (options["threshold"], options["interval"], options["hide_self"]) == (5_000_000, 2_000_000_000, True)
    # What is written on the command line holds even if it is the default.
    assert group_of(options) == "pid namespace"
    context = commands.make_context("schedtop", [])
    options = dict(context.params)
    fill(options, context, config)
    assert (options["threshold"], group_of(options)) == (2_000_000, "cgroup")
    before = dict(context.params)
    fill(before, context, parse_config(config_text(Config(), [], {}), PATH))
    assert before == dict(context.params)


MINE = """# mine

theme = "dark"  # at night
window = '10s'
unknown = [1,
  2]

[keys]  # own
freeze = "f5" # as in htop
"""


def test_choices_change_their_lines_and_nothing_else() -> None:
    text = with_choices(MINE, {"theme": "light", "hint": False})
    assert text == MINE.replace('"dark"', '"light"').replace("2]\n", "2]\nhint = false\n")
    assert with_choices(MINE, {"theme": "dark", "window": "10s"}) == MINE


@pytest.mark.parametrize("text", ["", "# only words", "a = 1", "[keys]\nzoom = 'z'", 'keys = {zoom = "z"}\n\n# end\n'])
def test_choices_get_into_any_file(text: str) -> None:
    new = tomllib.loads(with_choices(text, {"theme": "light", "hint": False}))
    assert new == tomllib.loads(text) | {"theme": "light", "hint": False}


def test_remembering_makes_the_directory_and_follows_a_link(home: Path) -> None:
    (home / ".config" / "schedtop").rmdir()
    path = file_in(home)
    remember(path, {"theme": "light"})
    assert load_config().values == {"theme": "light"}
    kept = home / "dotfiles.toml"
    path.rename(kept)
    kept.chmod(0o640)
    path.symlink_to(kept)
    remember(path, {"window": "10s"})
    assert path.is_symlink() and kept.stat().st_mode & 0o777 == 0o640
    assert load_config().values == {"theme": "light", "window": "10s"}
    assert [file.name for file in path.parent.iterdir()] == ["config.toml"]


def test_many_that_remember_at_once_leave_a_whole_file(home: Path) -> None:
    file_in(home).write_text(MINE)
    with ThreadPoolExecutor(4) as pool:
        for written in [pool.submit(remember, file_in(home), {"threshold": f"{number}ms"}) for number in range(1, 40)]:
            written.result()
    config = load_config()
    assert config.text("theme") == "dark" and config.text("threshold").endswith("ms")
    assert file_in(home).read_text().startswith("# mine\n") and len(list(file_in(home).parent.iterdir())) == 1


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_is_not_written(home: Path, text: str) -> None:
    file_in(home).write_text(text)
    with pytest.raises(ConfigError, match="not TOML"):
        remember(file_in(home), {"theme": "light"})
    assert file_in(home).read_text() == text


def test_save_without_changes_writes_nothing(home: Path) -> None:
    file_in(home).write_text(MINE)
    before = file_in(home).stat().st_ino
    remember(file_in(home), {"theme": "dark"})
    assert file_in(home).stat().st_ino == before


def test_hint_appears_only_without_a_file(home: Path) -> None:
    assert load_config().shows_hint
    file_in(home).write_text("remember = false")
    assert not load_config().shows_hint
    file_in(home).write_text("hint = true")
    assert load_config().shows_hint
    assert not load_config(wanted=False).shows_hint


def test_printed_config_reads_back_the_same() -> None:
    config = parse_config('theme = "light"\nthreshold = "2ms"\nfoo = 1', PATH)
    actions = [ActionLine("freeze", 'space,"', "Freezes")]
    text = config_text(config, actions, {"freeze": 'f5,"'})
    again = parse_config(text, PATH)
    assert not again.problems and again.bindings == {"freeze": 'f5,"'}
    assert {key.name: again[key.name] for key in KEYS} == {key.name: config[key.name] for key in KEYS} | {"hint": False}
    marked = [line.split(" = ")[0] for line in text.splitlines() if line.endswith("# <-")]
    assert marked == ["theme", "threshold", "hint", "freeze"]
    assert "# WRONG: " in text and str(PATH) in text
    for key in KEYS:
        assert f"# {key.meaning}." in text


def test_the_page_about_it_has_every_key() -> None:
    page = DOCS.read_text()
    for key in KEYS:
        default = str(key.default).lower() if isinstance(key.default, bool) else f'"{key.default}"'
        assert f"| `{key.name}` | `{default}` |" in page, f"docs/config.md: {key.name}"
