"""Which names a request may be for: a page whose name points at us (DNS rebinding) reads nothing."""

from __future__ import annotations

import socket

import pytest

from schedtop.outputs.metrics.host_names import ANY, HostNames

OURS = HostNames(["Web1.Example.com.", "127.0.0.1", ""])


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:9435", "LocalHost.:1", "a.localhost", "ip6-localhost", "127.0.0.1:9435", "10.1.2.3",
     "[::1]:9435", "[::1]", "[fe80::1%25eth0]:1", "web1.example.com", "WEB1.example.com.:80", socket.gethostname()],
)  # fmt: skip
def test_names_and_addresses_of_this_host_pass(host: str) -> None:
    assert OURS.has(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9435", "localhost.evil.example", "127.0.0.1.evil.example", "example.com",
     "xlocalhost", "127.0.0.1@evil.example", "", ":9435", "[evil]:1", "*", "1.2.3", "web1.example.com.evil"],
)  # fmt: skip
def test_other_names_do_not(host: str) -> None:
    assert not OURS.has(host)


def test_any_name_passes_where_that_is_asked_for() -> None:
    assert HostNames([ANY]).has("evil.example:1")


def test_full_name_is_added_when_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "web1.corp.example")
    names = HostNames([])
    assert not names.has("web1.corp.example")
    names._add_full_name()
    assert names.has("web1.corp.example:9435")
