"""Containers and names by cgroup path: layouts as they are in the world, and names made to do harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.model.containers import Container, cgroup_label, container_label, container_of, unescape

ID = "3f2a9c1b77de" + "0123456789abcdef" * 3 + "feed"
INNER = "beefbeefbeef" + "0123456789abcdef" * 3 + "feed"
UID = "1b2c3d4e-5f60-4711-8899-aabbccddeeff"
UID_ = UID.replace("-", "_")
STATIC = "5f3e9c1b77de0123456789abcdef0123"
SLICE = "/kubepods.slice/kubepods-burstable.slice"
USER = "/user.slice/user-1000.slice/user@1000.service"

DOCKER = Container("docker", "3f2a9c1b77de")
PODMAN = Container("podman", "3f2a9c1b77de")
CONTAINERD = Container("containerd", "3f2a9c1b77de")

CONTAINERS = [
    # docker: systemd, cgroupfs, rootless, in docker, and what systemd makes inside
    (f"/system.slice/docker-{ID}.scope", DOCKER, "docker 3f2a9c1b77de"),
    (f"/docker/{ID}", DOCKER, "docker 3f2a9c1b77de"),
    (f"{USER}/user.slice/docker-{ID}.scope", DOCKER, "docker 3f2a9c1b77de"),
    (f"/docker/{INNER}/docker/{ID}", DOCKER, "docker 3f2a9c1b77de"),
    (f"/system.slice/docker-{ID}.scope/system.slice/nginx.service", DOCKER, "docker 3f2a9c1b77de: nginx.service"),
    (f"/docker/{ID}/init.scope", DOCKER, "docker 3f2a9c1b77de: init.scope"),
    (f"/actions_job/{ID}", Container("container", "3f2a9c1b77de"), "container 3f2a9c1b77de"),
    # podman: as root and not, v1 (runc) and v2 (crun's own subgroup), cgroupfs, pods
    (f"/machine.slice/libpod-{ID}.scope", PODMAN, "podman 3f2a9c1b77de"),
    (f"/machine.slice/libpod-{ID}.scope/container", PODMAN, "podman 3f2a9c1b77de"),
    (f"/machine.slice/libpod-payload-{ID}.scope", PODMAN, "podman 3f2a9c1b77de"),
    (f"/libpod_parent/libpod-{ID}", PODMAN, "podman 3f2a9c1b77de"),
    (f"{USER}/user.slice/libpod-{ID}.scope/container", PODMAN, "podman 3f2a9c1b77de"),
    (
        f"/machine.slice/machine-libpod_pod_{INNER}.slice/libpod-{ID}.scope",
        Container("podman", "3f2a9c1b77de", "beefbeefbeef"),
        "pod beefbeef / 3f2a9c1b77de",
    ),
    (
        f"/libpod_parent/{INNER}/libpod-{ID}",
        Container("podman", "3f2a9c1b77de", "beefbeefbeef"),
        "pod beefbeef / 3f2a9c1b77de",
    ),
    # Kubernetes: three qualities of service, both drivers, three runtimes, in docker (kind)
    (
        f"{SLICE}/kubepods-burstable-pod{UID_}.slice/cri-containerd-{ID}.scope",
        Container("containerd", "3f2a9c1b77de", UID),
        "pod 1b2c3d4e / 3f2a9c1b77de",
    ),
    (
        f"/kubepods.slice/kubepods-pod{UID_}.slice/crio-{ID}.scope",
        Container("cri-o", "3f2a9c1b77de", UID),
        "pod 1b2c3d4e / 3f2a9c1b77de",
    ),
    (
        f"/kubepods/besteffort/pod{UID}/{ID}",
        Container("container", "3f2a9c1b77de", UID),
        "pod 1b2c3d4e / 3f2a9c1b77de",
    ),
    (f"/kubepods/pod{UID}/crio-{ID}", Container("cri-o", "3f2a9c1b77de", UID), "pod 1b2c3d4e / 3f2a9c1b77de"),
    (
        f"/kubepods/burstable/pod{STATIC}/{ID}",
        Container("container", "3f2a9c1b77de", STATIC),
        "pod 5f3e9c1b / 3f2a9c1b77de",
    ),
    (
        f"/system.slice/containerd.service/kubepods-besteffort-pod{UID_}.slice:cri-containerd:{ID}",
        Container("containerd", "3f2a9c1b77de", UID),
        "pod 1b2c3d4e / 3f2a9c1b77de",
    ),
    (
        f"/docker/{INNER}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"
        f"/kubelet-kubepods-besteffort-pod{UID_}.slice/cri-containerd-{ID}.scope",
        Container("containerd", "3f2a9c1b77de", UID),
        "pod 1b2c3d4e / 3f2a9c1b77de",
    ),
    # containerd alone
    (f"/default/{ID}", CONTAINERD, "containerd 3f2a9c1b77de"),
    (f"/system.slice/nerdctl-{ID}.scope", CONTAINERD, "containerd 3f2a9c1b77de"),
    (f"/system.slice/crio-{ID}.scope", Container("cri-o", "3f2a9c1b77de"), "cri-o 3f2a9c1b77de"),
    # LXC: v1, v2, 3.x, Proxmox, one in another
    ("/lxc/web-1", Container("lxc", "web-1"), "lxc web-1"),
    ("/lxc.payload.web-1", Container("lxc", "web-1"), "lxc web-1"),
    ("/lxc.payload/web-1", Container("lxc", "web-1"), "lxc web-1"),
    ("/lxc.payload.web-1/system.slice/nginx.service", Container("lxc", "web-1"), "lxc web-1: nginx.service"),
    ("/lxc/101/ns/system.slice/nginx.service", Container("lxc", "101"), "lxc 101: nginx.service"),
    ("/lxc/101/ns", Container("lxc", "101"), "lxc 101"),
    ("/lxc/outer/lxc/inner", Container("lxc", "inner"), "lxc inner"),
    (f"/lxc/outer/docker/{ID}", DOCKER, "docker 3f2a9c1b77de"),
    # machined: systemd-nspawn both ways, libvirt
    (r"/machine.slice/machine-my\x2dweb.scope", Container("nspawn", "my-web"), "nspawn my-web"),
    (
        r"/machine.slice/systemd-nspawn@my\x2dweb.service/payload/system.slice/nginx.service",
        Container("nspawn", "my-web"),
        "nspawn my-web: nginx.service",
    ),
    (
        r"/machine.slice/machine-qemu\x2d3\x2dubuntu20.04.scope/libvirt/vcpu0",
        Container("qemu", "ubuntu20.04"),
        "qemu ubuntu20.04: vcpu0",
    ),
    (r"/machine.slice/machine-lxc\x2d77\x2dold.scope", Container("lxc", "old"), "lxc old"),
]


@pytest.mark.parametrize(("path", "container", "label"), CONTAINERS)
def test_containers_as_they_are_in_the_world(path: str, container: Container, label: str) -> None:
    assert (container_of(path), cgroup_label(path)) == (container, label)
    # A subgroup belongs to the same container.
    assert container_label(path) == container_label(path + "/worker") == label.split(":")[0]
    assert container_of(path + "/worker") == container


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/", "/"),
        ("", "/"),
        ("/system.slice", "system.slice"),
        ("/system.slice/nginx.service", "nginx.service"),
        ("/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main.service"),
        ("/system.slice/docker.service", "docker.service"),
        ("/system.slice/containerd.service", "containerd.service"),
        ("/system.slice/foo.service/workers/7", "foo.service/workers/7"),
        (r"/system.slice/mnt-my\x2ddata.mount", "mnt-my-data.mount"),
        ("/init.scope", "init.scope"),
        ("/user.slice/user-1000.slice", "user-1000.slice"),
        ("/user.slice/user-1000.slice/session-3.scope", "user 1000: session-3.scope"),
        (USER, "user@1000.service"),
        (f"{USER}/init.scope", "user 1000: init.scope"),
        (f"{USER}/app.slice/foo.service", "user 1000: foo.service"),
        (f"{USER}/app.slice/app-gnome-my\\x2dapp-77.scope", "user 1000: app-gnome-my-app-77.scope"),
        # What looks after a container is not in it.
        (f"/machine.slice/libpod-conmon-{ID}.scope", "libpod-conmon-3f2a9c1b77de.scope"),
        (f"/system.slice/crio-conmon-{ID}.scope", "crio-conmon-3f2a9c1b77de.scope"),
        ("/lxc.monitor.web-1", "/lxc.monitor.web-1"),
        ("/lxc", "/lxc"),
        ("/docker", "/docker"),
        ("/system.slice/docker-compose.scope", "docker-compose.scope"),
        (SLICE, "kubepods-burstable.slice"),
        ("/kubepods/besteffort", "/kubepods/besteffort"),
        ("/jobs/batch", "/jobs/batch"),
        ("/lxc.payload.", "/lxc.payload."),
        ("/machine-.scope", "machine-.scope"),
    ],
)
def test_group_on_the_host_has_the_name_of_its_unit(path: str, label: str) -> None:
    assert (container_of(path), container_label(path), cgroup_label(path)) == (None, "host", label)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        (f"{SLICE}/kubepods-burstable-pod{UID_}.slice", "pod 1b2c3d4e"),
        (f"/kubepods/besteffort/pod{UID}", "pod 1b2c3d4e"),
        (f"/machine.slice/machine-libpod_pod_{ID}.slice", "pod 3f2a9c1b"),
        (f"{USER}/user.slice/user-libpod_pod_{ID}.slice", "pod 3f2a9c1b"),
    ],
)
def test_group_in_a_pod_outside_its_containers_is_the_pods(path: str, label: str) -> None:
    assert (container_of(path), container_label(path), cgroup_label(path)) == (None, label, label)
    monitor = f"{path}/crio-conmon-{INNER}.scope"
    assert (container_label(monitor), cgroup_label(monitor)) == (label, f"{label}: crio-conmon-beefbeefbeef.scope")


@pytest.mark.parametrize("label", [label for _, _, label in CONTAINERS])
def test_labels_fit_a_cell(label: str) -> None:
    assert len(label.split(":")[0]) <= 30


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (r"a\x2db", "a-b"),
        (r"caf\xc3\xa9", "café"),
        (r"a\x1b[31m", "a?[31m"),
        (r"a\xffb", "a�b"),
        (r"a\x2", r"a\x2"),
        (r"a\xzz", r"a\xzz"),
        ("a\\", "a\\"),
        ("a\udcff\n\u202e", "a???"),
    ],
)
def test_escapes_are_undone_and_nothing_steers_the_terminal(name: str, expected: str) -> None:
    assert unescape(name) == expected


NAMES = st.one_of(
    st.text(st.characters(), max_size=300),
    st.sampled_from(
        [
            ID,
            f"docker-{ID}.scope",
            f"pod{UID}",
            "lxc",
            "machine-",
            ".scope",
            r"\x2d",
            r"\xff\x1b",
            "[bold red]",
            "]",
            ":",
        ]
    ),
    st.from_regex(r"(machine-|lxc\.payload\.|user-|libpod-|pod)[^/]*(\.scope|\.slice|\.service)?", fullmatch=True),
)


@given(st.lists(NAMES, max_size=8).map("/".join))
def test_hostile_names_of_groups_do_no_harm(path: str) -> None:
    container = container_of(path)
    for label in (cgroup_label(path), container_label(path), container.id if container else "-"):
        assert label and label.isprintable()
        label.encode()


@pytest.mark.parametrize("path", ["/" + "a" * 100_000, "/a" * 50_000, "/" + "\\x2d" * 50_000, "/machine-" * 10_000])
def test_long_paths_of_groups_do_no_harm(path: str) -> None:
    assert container_label(path) == "host"
    assert cgroup_label(path).isprintable()
