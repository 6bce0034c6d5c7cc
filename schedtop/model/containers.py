"""Which container a cgroup belongs to, and short names of cgroups for people, by the path alone.

Paths are relative to the hierarchy's root, the same in v1, v2 and hybrid mounts. The layouts are those of runc and crun
(`PREFIX-ID.scope` with systemd as the driver, `PARENT/ID` with cgroupfs), Kubernetes' kubelet (`pod<uid>`), podman,
LXC and systemd (machined's `machine-NAME.scope`; names are escaped as in systemd.unit(5)).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from schedtop.base.units import printable

HOST = "host"
"""The container label of what is in no container."""

_ID_DIGITS = 12
_POD_DIGITS = 8
_LABELS_KEPT = 1 << 15
_CONTAINERS_KEPT = 1 << 12

_RUNTIMES = {
    "docker": "docker",
    "cri-containerd": "containerd",
    "containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "libpod": "podman",
    "libpod-payload": "podman",
}
_PARENTS = {"docker": "docker", "libpod_parent": "podman", "default": "containerd", "k8s.io": "containerd"}
_UNKNOWN = "container"

_NAMED = re.compile(rf"({'|'.join(map(re.escape, _RUNTIMES))})[-:]([0-9a-f]{{12,64}})(?:\.scope)?")
_LONG_ID = re.compile(r"[0-9a-f]{64}")
_MACHINE = re.compile(r"machine-(.+)\.scope|systemd-nspawn@(.+)\.service", re.DOTALL)
_LIBVIRT = re.compile(r"(qemu|lxc)-[0-9]+-(.+)", re.DOTALL)
_PAYLOAD = "lxc.payload."
_POD = re.compile(r"(?:.*kubepods(?:-[a-z]+)?-)?pod([0-9a-f]{8}[0-9a-f_-]{24,28})(?:\.slice)?")
_PODMAN_POD = re.compile(r"(?:machine|user)-libpod_pod_([0-9a-f]{64})\.slice")
_UNIT = re.compile(r".+\.(?:service|scope|slice|socket|mount|swap)", re.DOTALL)
_USER = re.compile(r"user-([0-9]+)\.slice")
_ESCAPED = re.compile(r"(?:\\x[0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class Container:
    """A container: what runs it, what its users call it, and the pod that it is in.

    `runtime`: docker, podman, containerd, cri-o, lxc, nspawn, qemu (a virtual machine), or `container` where the path
    does not tell. `id`: the first 12 hex digits, or a name. `pod`: a Kubernetes uid with dashes or the 12 digits of
    podman's; empty: in none.
    """

    runtime: str
    id: str
    pod: str = ""

    @property
    def label(self) -> str:
        """A name that fits into 30 columns unless the container's own is longer."""
        return f"{_pod_label(self.pod)} / {self.id}" if self.pod else f"{self.runtime} {self.id}"


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path says: the innermost container or pod, and the index of the first name below it."""

    container: Container | None = None
    pod: str = ""
    below: int = 0

    @property
    def label(self) -> str:
        """Empty outside of containers and pods."""
        if self.container:
            return self.container.label
        return _pod_label(self.pod) if self.pod else ""


@lru_cache(_CONTAINERS_KEPT)
def container_of(path: str) -> Container | None:
    """The container that a cgroup is of or inside of, the innermost one of several; `None` on the host, and for what a
    pod has outside of its containers."""
    return _place(_names(path)).container


@lru_cache(_LABELS_KEPT)
def cgroup_label(path: str) -> str:
    """A short printable name: container or pod and what is below it, else the innermost systemd unit, else the path."""
    names = _names(path)
    place = _place(names)
    if place.label:
        rest = _inner_name(names[place.below :])
        return f"{place.label}: {rest}" if rest else place.label
    return _unit_label(names) or _short("/" + "/".join(names))


@lru_cache(_LABELS_KEPT)
def container_label(path: str) -> str:
    """A container's printable name, a pod's for what is in a pod alone, HOST for what is in neither."""
    return _place(_names(path)).label or HOST


def unescape(name: str) -> str:
    """A systemd unit's name without its escapes (`\\x2d`), printable: what could steer a terminal becomes `?`."""
    plain = _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("\\x", "")).decode("utf-8", "replace"), name)
    return printable(plain)


def _names(path: str) -> list[str]:
    # containerd with a systemd path but the cgroupfs driver: `….slice:cri-containerd:ID` is one name.
    return [name for name in path.replace(".slice:", ".slice/").split("/") if name]


def _place(names: list[str]) -> _Place:
    place = _Place()
    parent = ""
    for index, name in enumerate(names, start=1):
        if pod := _pod(name, parent):
            place = _Place(None, pod, index)
        elif found := _container(name, parent):
            place = _Place(Container(*found, place.pod), place.pod, index)
        parent = name
    return place


def _pod(name: str, parent: str) -> str:
    if found := _POD.fullmatch(name):
        return found[1].replace("_", "-")
    if found := _PODMAN_POD.fullmatch(name):
        return found[1][:_ID_DIGITS]
    # podman with cgroupfs: a container has its prefix there, a pod has none.
    return name[:_ID_DIGITS] if parent == "libpod_parent" and _LONG_ID.fullmatch(name) else ""


def _container(name: str, parent: str) -> tuple[str, str] | None:
    """Runtime and id if the cgroup of this name, below `parent`, is a container's outermost one."""
    if found := _NAMED.fullmatch(name):
        return _RUNTIMES[found[1]], found[2][:_ID_DIGITS]
    if _LONG_ID.fullmatch(name):
        return _PARENTS.get(parent, _UNKNOWN), name[:_ID_DIGITS]
    if parent in ("lxc", "lxc.payload"):
        return "lxc", unescape(name)
    if name.startswith(_PAYLOAD) and name != _PAYLOAD:
        return "lxc", unescape(name.removeprefix(_PAYLOAD))
    if found := _MACHINE.fullmatch(name):
        machine = unescape(found[1] or found[2])
        libvirt = _LIBVIRT.fullmatch(machine)
        return (libvirt[1], libvirt[2]) if libvirt else ("nspawn", machine)
    return None


def _pod_label(pod: str) -> str:
    return f"pod {pod[:_POD_DIGITS]}"


def _inner_name(below: list[str]) -> str:
    """The last name below a container; crun's own subgroup and LXC's, in which everything is, say nothing."""
    while below and below[0] in ("container", "ns", ".lxc"):
        below = below[1:]
    return _short(below[-1]) if below else ""


def _unit_label(names: list[str]) -> str:
    """The innermost unit, with its user and the subgroups that it made itself."""
    last = max((index for index, name in enumerate(names) if _UNIT.fullmatch(name)), default=-1)
    if last < 0:
        return ""
    users = [found[1] for name in names[:last] if (found := _USER.fullmatch(name))]
    owner = f"user {users[-1]}: " if users and names[last] != f"user@{users[-1]}.service" else ""
    return owner + "/".join(_short(name) for name in names[last:])


def _short(name: str) -> str:
    """Printable, with long ids (of what is about a container, but not in it) cut as people cut them."""
    return _LONG_ID.sub(lambda found: found[0][:_ID_DIGITS], unescape(name))


def is_within(path: str, group: str) -> bool:
    """Whether a cgroup's path is that group or below it."""
    return bool(path) and (group == "/" or path == group or path.startswith(group + "/"))
