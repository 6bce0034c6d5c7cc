"""A breath before each module that is imported late."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

import pytest

from schedtop.base.breathing_imports import breathing_imports


def test_a_breath_is_taken_before_each_module_of_this_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_late").mkdir()
    (tmp_path / "made_late/__init__.py").write_text("import made_late.inner\n")
    (tmp_path / "made_late/inner.py").write_text("")
    (tmp_path / "made_elsewhere.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, breaths = list(sys.meta_path), [0]

    def breathe() -> None:
        breaths[0] += 1

    with breathing_imports(breathe):
        importlib.import_module("made_late")
        assert breaths == [2]
        importlib.import_module("made_late")
        elsewhere = threading.Thread(target=importlib.import_module, args=("made_elsewhere",))
        elsewhere.start()
        elsewhere.join()
        assert "made_elsewhere" in sys.modules
        assert breaths == [2]
    assert sys.meta_path == before
