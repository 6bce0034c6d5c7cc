"""What makes a start cheaper leaves nothing behind."""

import gc
import os
import subprocess
import sys

import pytest

from schedtop.base import lean

THREADS = "OPENBLAS_NUM_THREADS"


def test_a_module_is_missing_only_while_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with lean.without("wave"), pytest.raises(ImportError):
        import wave
    import wave

    with lean.without("wave"):
        assert sys.modules["wave"] is wave, "what is imported already stays"


def test_hashes_without_openssl_are_the_same() -> None:
    code = (
        "from schedtop.sources.kernel import program_cache as cache; import sys, hashlib as late;"
        "assert '_hashlib' not in sys.modules; print(cache.hashlib.sha256(b'x').hexdigest())"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.mark.parametrize("given", [None, "4"])
def test_what_is_started_for_the_user_has_the_variables_of_the_user(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    if given:
        monkeypatch.setenv(THREADS, given)
    usual = gc.get_threshold()
    lean.begin()
    assert os.environ[THREADS] == (given or "1")
    assert gc.get_threshold() > usual
    lean.end()
    assert os.environ.get(THREADS) == given
    assert gc.get_threshold() == usual
    gc.unfreeze()


def test_a_start_is_over_before_garbage_is_looked_for() -> None:
    """What a dashboard imports makes fewer objects than the collector waits for: it would find next to nothing."""
    code = (
        "import gc; from schedtop.base import lean; lean.begin(); found = [];"
        "gc.callbacks.append(lambda phase, info: found.append(info));"
        "import schedtop.cli, schedtop.commands.dashboard, schedtop.sources.scheduler.source, schedtop.ui.app;"
        "import schedtop.commands.on_demand; print(len(found), sum(gc.get_count()) > 20_000)"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["0", "True"]


def test_numpy_works_without_its_documentation() -> None:
    code = (
        "import sys; from schedtop.base import lean; lean.begin(); import numpy;"
        "print(hasattr(sys.modules['numpy._core._add_newdocs'], '__file__'), numpy.zeros(3).sum())"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["False", "0.0"]
