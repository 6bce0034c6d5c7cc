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
