"""What is measured beside the scheduler, where options or conditions ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedtop.model.source import Source
from schedtop.sources.activity.beside import WithActivity
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.scope import Scope
from schedtop.sources.synthetic.activity import SyntheticActivity


def with_activity(source: Source, options: Mapping[str, Any], scope: Scope) -> Source:
    """The source with what the tasks of `scope` do, through the same front end."""
    if options["source"] == "synthetic":
        return WithActivity(source, SyntheticActivity())
    return WithActivity(source, LiveActivity(scope, source=options["source"]))
