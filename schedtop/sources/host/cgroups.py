"""Names of cgroups by id. The id is the inode number of the group's directory (kernfs)."""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from schedtop.model.containers import cgroup_label, container_of, unescape

_WALK_PAUSE_S = 2.0
_MAX_GROUPS = 20_000
_GROUPS_PER_S = 1_000
_NAMED_AT_MOST = 3
_ID_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_POD_ID = re.compile(r"pod([0-9a-f]{8}[0-9a-f_-]{24,28})(?:\.slice)?$")
_ESCAPED = re.compile(r"\\([0-3][0-7]{2})")
_LONG_ID = re.compile(r"[0-9a-f]{64}")


def mount_fields(text: str) -> list[list[str]]:
    """The fields of each line of /proc/PID/mounts or mountinfo.

    The kernel escapes blanks, tabs and ends of lines (mangle_path of fs/seq_file.c); what else Python takes for one is
    part of a name, and anybody who may mount something chooses that.
    """
    return [[_unescaped(field) for field in line.split(" ")] for line in text.split("\n")]


def _unescaped(field: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), field) if "\\" in field else field


def cpu_hierarchy(mounts: str) -> Path | None:
    """Where the cpu controller's groups are mounted, by the text of /proc/self/mounts: v1 if it is there, else v2."""
    unified = None
    for fields in mount_fields(mounts):
        if _is_v1_cpu(fields):
            return Path(fields[1])
        if len(fields) > 3 and fields[2] == "cgroup2":
            unified = Path(fields[1])
    return unified


def has_v1_cpu_controller(mounts: Callable[[], str] | None = None) -> bool:
    """Whether the cpu controller is on a v1 hierarchy: then that is where its groups and quotas are."""
    return any(_is_v1_cpu(fields) for fields in mount_fields((mounts or read_mounts)()))


def _is_v1_cpu(fields: list[str]) -> bool:
    return len(fields) > 3 and fields[2] == "cgroup" and "cpu" in fields[3].split(",")


def read_mounts(path: Path = Path("/proc/self/mounts")) -> str:
    """What is mounted; any user may mount something under a name that is no UTF-8."""
    return os.fsdecode(path.read_bytes())


def mounted_group(root: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str:
    """Which group of the hierarchy that is mounted at `root` is its top, as seen from our cgroup namespace.

    `/` but where a container has its own group's directory alone (`/docker/ID`), or, in a cgroup namespace, that of
    the host (`/../..`). Source: Documentation/filesystems/proc.rst, /proc/PID/mountinfo.
    """
    try:
        lines = mount_fields(read_mounts(mountinfo))
    except OSError:
        return "/"
    found = [fields[3] for fields in lines if len(fields) > 4 and fields[4] == str(root)]
    return found[-1] if found else "/"


def group_directory(root: Path, top: str, path: str) -> str | None:
    """Where the group `path` of /proc/PID/cgroup is below `root`; `None`: it is not there, or not to be told.

    `top`: what `mounted_group` says.
    """
    if top.startswith("/..") or f"{path}/".startswith("/../"):
        return None  # outside of our cgroup namespace
    if top == "/":
        return f"{root}{path}"
    return f"{root}{path[len(top) :]}" if f"{path}/".startswith(f"{top}/") else None


class CgroupNames:
    """Paths by id, from a walk of the hierarchy that is repeated when an unknown id turns up (but not too often)."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._names: Mapping[int, str] = MappingProxyType({})
        self._walked = -_WALK_PAUSE_S

    def resolve(self, ids: Iterable[int]) -> Mapping[int, str]:
        """Paths relative to the hierarchy's root (`/` is the root itself); an id that is not there has none."""
        unknown = any(cgroup and cgroup not in self._names for cgroup in ids)
        # A user may have made thousands of groups: the more there are, the more seldom they are looked at.
        pause_s = max(_WALK_PAUSE_S, len(self._names) / _GROUPS_PER_S)
        if unknown and time.monotonic() - self._walked >= pause_s:
            self.walk()
        return self._names

    def walk(self) -> None:
        """Looks at the hierarchy now."""
        self._walked = time.monotonic()
        found = walk(self._root) if self._root else {}
        # Frames keep the mapping that held for them: without news it stays the same one.
        if any(self._names.get(number) != path for number, path in found.items()):
            # What is gone keeps its name: its tasks may still be on the screen.
            kept = dict(list(self._names.items())[-_MAX_GROUPS:])
            same = {path: path for path in kept.values()}
            self._names = MappingProxyType(kept | {number: same.get(path, path) for number, path in found.items()})


def walk(root: Path) -> dict[int, str]:
    """All groups below `root` by id."""
    found: dict[int, str] = {}
    for directory, children, _ in os.walk(root):
        try:
            inode = os.stat(directory).st_ino
        except OSError:
            children.clear()  # gone meanwhile
            continue
        found[inode] = directory[len(str(root)) :] or "/"
        if len(found) >= _MAX_GROUPS:
            break
    return found


def find_group(root: Path, text: str, mounts: Path = Path("/proc/self/mounts")) -> tuple[str, int]:
    """The group that a user means, as path relative to `root` (where the hierarchy is mounted) and id.

    `text` is, in this order: a path below any mount of cgroups (the same group in another hierarchy is meant too), a
    path below `root` with or without its first slash, or what one group alone is called: its name, a unit's without its
    suffix, a container's name or id, a label on the screen, or the first digits (4 or more) of a container's or a
    pod's id. Raises ValueError with one sentence.
    """
    if not text.strip():
        raise ValueError("the name of a cgroup is empty")
    for path in (_below_a_mount(root, text, mounts), os.path.normpath(f"/{text.lstrip('/')}")):
        if path is not None and os.path.isdir(f"{root}{path}"):
            return path, _inode(root, path)
    # Name by name, so that a group comes right before all that is inside of it.
    paths = sorted(walk(root).values(), key=lambda path: path.split("/"))
    found = _called(paths, text.strip("/"))
    if not found:
        near = _nearest(paths, text)
        raise ValueError(f"no cgroup {text!r} below {root}" + (f"; did you mean {near}?" if near else ""))
    if len(found) > 1:
        some = ", ".join(found[:_NAMED_AT_MOST])
        more = f" and {len(found) - _NAMED_AT_MOST} more" if len(found) > _NAMED_AT_MOST else ""
        raise ValueError(f"{text!r} may be any of {len(found)} cgroups: {some}{more}; give the path")
    return found[0], _inode(root, found[0])


def _inode(root: Path, path: str) -> int:
    try:
        return os.stat(f"{root}{path}").st_ino
    except OSError as error:
        raise ValueError(f"the cgroup {path} is gone: {error.strerror}") from error


def _below_a_mount(root: Path, text: str, mounts: Path) -> str | None:
    """An absolute path relative to the mount of cgroups that it is below, also through links (`cpu` of v1)."""
    if not text.startswith("/"):
        return None
    try:
        lines = mount_fields(read_mounts(mounts))
    except OSError:
        lines = []
    points = {fields[1] for fields in lines if len(fields) > 2 and fields[2] in ("cgroup", "cgroup2")}
    for point in sorted({str(root), os.path.realpath(root), *points}, key=len, reverse=True):
        for path in (os.path.normpath(text), os.path.realpath(text)):
            if path == point or path.startswith(f"{point}/"):
                return path[len(point) :] or "/"
    return None


def _called(paths: list[str], text: str) -> list[str]:
    """The groups of that name, the outermost ones only; whole names go before parts of them."""
    for meets in (_has_name, _has_other_name, _has_id):
        found: list[str] = []
        for path in paths:
            if meets(path, text) and not (found and path.startswith(f"{found[-1]}/")):
                found.append(path)
        if found:
            return found
    return []


def _has_name(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    return text in (name, unescape(name))


def _has_other_name(path: str, text: str) -> bool:
    name = unescape(path.rpartition("/")[2])
    if any(name == f"{text}.{suffix}" for suffix in ("service", "scope", "slice")) or text == cgroup_label(path):
        return True
    container = container_of(path)
    return container is not None and text == container.id


def _has_id(path: str, text: str) -> bool:
    if not _ID_PREFIX.fullmatch(text.replace("-", "")):
        return False
    pod = _POD_ID.search(path.rpartition("/")[2])
    if pod and pod[1].replace("_", "-").startswith(text):
        return True
    container = container_of(path)
    if container is None:
        return False
    # More digits than a label has are compared with those of the path.
    ids = [found for found in _LONG_ID.findall(path) if found.startswith(container.id)]
    return any(number.startswith(text) for number in (container.id, *ids))


def _nearest(paths: list[str], text: str) -> str:
    """The path that looks most like what was asked for, by its whole or its last name; empty if none does."""
    by_name = {path.rpartition("/")[2]: path for path in reversed(paths)}
    near = difflib.get_close_matches(text.rpartition("/")[2], by_name, 1)
    return by_name[near[0]] if near else next(iter(difflib.get_close_matches(text, paths, 1)), "")
