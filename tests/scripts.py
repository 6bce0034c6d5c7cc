"""The programs in scripts/, as modules for tests."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests import ROOT

SCRIPTS = ROOT / "scripts"


def load(name: str) -> ModuleType:
    """A fresh module of the program; its neighbours are found as when it is run, and not afterwards."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        spec.loader.exec_module(module)
    return module
