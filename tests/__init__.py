"""Tests; a package, so that what the tests of panes and app share can be imported."""
