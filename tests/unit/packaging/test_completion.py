"""Completion of command lines: what is offered, at what price, and in the shells themselves."""

import fcntl
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

import schedtop
from schedtop.cli import commands
from schedtop.cli import words as completing
from schedtop.triggers.metrics import METRICS
from schedtop.triggers.plan import ACTIONS

ROOT = Path(schedtop.__file__).parents[1]
SCRIPTS = Path(schedtop.__file__).parent / "completions"
BASH, FISH = shutil.which("bash"), shutil.which("fish")
ZSH = shutil.which("zsh")

ASK = """
import json, sys
from schedtop.cli import commands
from schedtop.cli.words import answer
asked = json.load(sys.stdin)
answers = [list(answer(commands, {"_SCHEDTOP_COMPLETE": shell, "SCHEDTOP_LINE": line, "SCHEDTOP_WORD": word}))
           for shell, line, word in asked]
print(json.dumps([answers, sorted({name.split(".")[0] for name in sys.modules})]))
"""


def ask(*asked: tuple[str, str, str]) -> tuple[list[list[str]], set[str]]:
    """The answers, and what was imported for them; in another process, which gives the commands other types."""
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers, imported = json.loads(done.stdout)
    return answers, set(imported)


def test_commands_options_and_values_are_offered_and_nothing_slow_is_imported() -> None:
    (found, options, themes, equals, sources, actions, metrics, files), imported = ask(
        ("bash", "schedtop re", "re"),
        ("zsh", "schedtop\nsnapshot", "--form"),
        ("bash", "schedtop --theme ", ""),
        ("bash", "schedtop --theme=d", "d"),
        ("fish", "schedtop\nsnapshot\n--source", ""),
        ("bash", "schedtop watch --then ", ""),
        ("bash", "schedtop --on 'p9", "'p9"),
        ("bash", "schedtop report x", "x"),
    )
    assert [line.split("\t")[1] for line in found] == ["record", "replay", "report"]
    assert options == ["word\t--format\tWhat to write."]
    assert {line.split("\t")[1] for line in themes} >= {"dark", "mono"}
    assert equals == ["word\tdark\t"]  # = is a border of words in bash
    assert {"word\tbtf\t", "word\ttracepoint\t"} <= set(sources)
    assert "word\tsynthetic\t" not in sources
    assert actions == ["word\texport\t", "word\trecord\t", "word\tpath\t", "part\trun\t"]  # no screen to freeze
    assert metrics == ["part\tp90\t", "part\tp99\t", "part\tp99.9\t"]
    assert [line.split("\t")[0] for line in files] == ["file"]
    assert not imported & {"numpy", "textual", "rich", "tomlkit", "jinja2", "matplotlib", "prometheus_client", "bcc"}


def test_a_program_is_offered_behind_its_mark_alone() -> None:
    (tasks, programs, words, none, nothing), _ = ask(
        ("bash", "schedtop task ", ""),
        ("bash", "schedtop task -- l", "l"),
        ("bash", "schedtop offcpu -- ls /e", "/e"),
        ("bash", "schedtop offcpu l", "l"),
        ("bash", "schedtop offcpu -- ls --s", "--s"),
    )
    assert tasks == ["task\t\t"] and none == []
    assert programs == ["file\tl\t"] and words == ["file\t/e\t"] and nothing == ["file\t--s\t"]


def test_a_shell_that_replaces_whole_words_gets_whole_words() -> None:
    (zsh, unknown), _ = ask(("zsh", "schedtop", "--theme=d"), ("tcsh", "schedtop ", ""))
    assert zsh == ["word\t--theme=dark\t"]
    assert unknown == []


def test_completion_offers_the_existing_words() -> None:
    assert set(completing.METRICS) == set(METRICS)
    assert set(completing.ACTIONS) == set(ACTIONS)


def test_completion_offers_only_harmless_names_of_cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from schedtop.sources.host import cgroups

    for name in ("a.slice/in.service", "b$(reboot)", "c d", "e\x1b[2J", "user@0.service"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a.slice")
    monkeypatch.setattr(cgroups, "read_mounts", lambda: f"none {tmp_path} cgroup2 rw 0 0\n")
    context = commands.make_context("schedtop", [], resilient_parsing=True)
    offered = [(item.value, item.type) for item in completing._cgroups(context, "/")]
    assert offered == [("/a.slice", "part"), ("/user@0.service", "word")]
    assert [item.value for item in completing._cgroups(context, "/a.slice/")] == ["/a.slice/in.service"]
    assert completing._cgroups(context, "/../") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["completion", shell], "schedtop", standalone_mode=False) == 0
    assert capfd.readouterr().out == (SCRIPTS / f"schedtop.{shell}").read_text()


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """One in which `schedtop` is this checkout's."""
    command = tmp_path / "bin" / "schedtop"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m schedtop "$@"\n')
    command.chmod(0o755)
    keep = {"PATH": f"{command.parent}:{os.environ['PATH']}", "TERM": "dumb", "HOME": str(tmp_path)}
    return {**keep, "LC_ALL": "C.UTF-8", "ZDOTDIR": str(tmp_path), "PS1": "> "}


def typed(shell: list[str], environment: Mapping[str, str], keys: list[tuple[str, str]]) -> None:
    """Types into a shell on a terminal of its own; after each piece of keys its screen has to show the text."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(shell[0], shell, dict(environment))
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        for text, expected in keys:
            os.write(terminal, text.encode())
            seen, deadline = "", time.monotonic() + 30
            while expected not in seen:
                ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
                assert ready, f"{text!r}: waited for {expected!r}, got {seen!r}"
                seen += os.read(terminal, 4096).decode(errors="replace")
    finally:
        os.close(terminal)  # hangs up
        os.waitpid(child, 0)


TYPED = [
    ("schedtop snaps\t", "hot "),
    ("--form\t", "at "),
    ("te\t", "xt "),
    ("--comm 'a  b' --cgroup=/a:b --group=cont\t", "ainer "),
    ("\x15~/bin/schedtop snaps\t", "hot "),  # the shell leaves the tilde to us
]
"""Keys, and what the shell has to add."""


@pytest.mark.skipif(not BASH, reason="bash is not installed")
def test_tab_in_bash(environment: Mapping[str, str]) -> None:
    assert BASH
    typed(
        [BASH, "--norc", "--noprofile", "-i"],
        environment,
        [(f". {SCRIPTS}/schedtop.bash; echo rea''dy\n", "ready"), *TYPED],
    )


@pytest.mark.skipif(not ZSH, reason="zsh is not installed")
def test_tab_in_zsh_as_a_function_in_fpath(environment: Mapping[str, str], tmp_path: Path) -> None:
    assert ZSH
    (tmp_path / "_schedtop").write_text((SCRIPTS / "schedtop.zsh").read_text())
    # Of the system's functions only those that complete: compinit reads each one.
    places = f"{tmp_path} ${{(M)fpath:#*/Completion(|/Base|/Zsh)}}"
    begin = f"fpath=({places}); autoload -Uz compinit; compinit -u -d {tmp_path}/dump; echo rea''dy\n"
    typed([ZSH, "-f", "-i"], environment, [(begin, "ready"), *TYPED])


@pytest.mark.skipif(not FISH, reason="fish is not installed")
def test_completion_in_fish(environment: Mapping[str, str]) -> None:
    assert FISH
    script = f"source {SCRIPTS}/schedtop.fish; " + "; ".join(
        f'complete -C "{line}"' for line in ("schedtop snaps", "~/bin/schedtop --theme=dar", "schedtop snapshot --form")
    )
    done = subprocess.run(
        [FISH, "--no-config", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["snapshot", "--theme=dark", "--format"]


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A directory in which a program of the same name waits to be started."""
    made = tmp_path / "trap"
    made.mkdir()
    (made / "schedtop").write_text(f"#!/bin/sh\n: > {tmp_path}/started\n")
    (made / "schedtop").chmod(0o755)
    return made


@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=["bash", "zsh", "fish"])
def test_tab_starts_nothing_of_the_current_directory(
    shell: str | None, environment: Mapping[str, str], trap: Path, tmp_path: Path
) -> None:
    if shell is None:
        pytest.skip("it is not installed")
    there = {**environment, "PATH": f".:relative:{environment['PATH']}"}
    if shell == FISH:
        lines = "; ".join(f'complete -C "{name} snaps"' for name in ("./schedtop", "schedtop"))
        done = subprocess.run(
            [shell, "--no-config", "-c", f"source {SCRIPTS}/schedtop.fish; {lines}"],
            env=there, cwd=trap, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["snapshot", "snapshot"]
    else:
        options, kind = (["--norc", "--noprofile", "-i"], "bash") if shell == BASH else (["-f", "-i"], "zsh")
        loaded = "" if shell == BASH else f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump; "
        begin = f"cd {trap}; {loaded}. {SCRIPTS}/schedtop.{kind}; echo rea''dy\n"
        keys = [(begin, "ready"), ("./schedtop snaps\t", "hot "), ("\x15schedtop snaps\t", "hot ")]
        typed([shell, *options], there, keys)
    assert not (tmp_path / "started").exists()
