"""The DaemonSet: valid by Kubernetes' own schema, and no right and no mount but those that docs/install.md explains."""

import re
from pathlib import Path
from typing import Any

import pytest

import schedtop
from schedtop.cli import commands

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: `make test` installs it")

ROOT = Path(schedtop.__file__).parents[1]
MANIFEST = ROOT / "contrib" / "kubernetes" / "daemonset.yaml"


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def pod(documents: dict[str, Any]) -> dict[str, Any]:
    return dict(documents["DaemonSet"]["spec"]["template"]["spec"])


@pytest.fixture(scope="module")
def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["containers"]
    return dict(only)


def explained(kind: str) -> set[str]:
    """What the table of docs/install.md, "The least that it needs", says that the DaemonSet has of a kind."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    _, _, section = page.partition("### The least that it needs\n")
    rows = re.findall(r"^\| ([a-z ]+) \| `([^`]+)` \| (yes|no) \| (.+) \|$", section.partition("\n#")[0], re.M)
    assert rows, "no table"
    return {name for what, name, has, _ in rows if what == kind and has == "yes"}


def test_each_document_is_valid_by_the_schemas_of_kubernetes(documents: dict[str, Any]) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for version in ("1.27", validate.latest_version()):
        for document in documents.values():
            validate.validate(document, version, strict=True)
        broken = {**documents["DaemonSet"], "spec": {**documents["DaemonSet"]["spec"], "replicas": 2}}
        with pytest.raises(validate.ValidationError):
            validate.validate(broken, version, strict=True)


def test_capabilities_are_those_that_the_page_explains(container: dict[str, Any]) -> None:
    rights = container["securityContext"]
    assert rights["capabilities"]["drop"] == ["ALL"]
    assert {f"CAP_{name}" for name in rights["capabilities"]["add"]} == explained("capability")
    assert (rights["privileged"], rights["allowPrivilegeEscalation"]) == (False, False)
    assert rights["readOnlyRootFilesystem"] is True and rights["seccompProfile"] == {"type": "RuntimeDefault"}


def test_mounts_of_the_host_are_read_only_and_those_that_the_page_explains(
    pod: dict[str, Any], container: dict[str, Any]
) -> None:
    hosts = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume}
    assert set(hosts.values()) == explained("mount")
    for mount in container["volumeMounts"]:
        assert mount["name"] not in hosts or (mount["readOnly"] is True and mount["mountPath"] == hosts[mount["name"]])
    names = {volume["name"] for volume in pod["volumes"]}
    assert names == {mount["name"] for mount in container["volumeMounts"]}


def test_namespaces_of_the_host_are_those_that_the_page_explains(pod: dict[str, Any]) -> None:
    words = {"hostPID": "pid", "hostNetwork": "network", "hostIPC": "ipc"}
    assert {name for word, name in words.items() if pod.get(word)} == explained("namespace")
    assert pod["automountServiceAccountToken"] is False


def test_image_and_arguments_are_of_this_version(container: dict[str, Any]) -> None:
    assert container["image"].endswith(f"/schedtop:{schedtop.__version__}")
    name, *arguments = container["args"]
    commands.commands[name].make_context(name, list(arguments))
    [port] = container["ports"]
    assert arguments[arguments.index("--listen") + 1] == f":{port['containerPort']}"


def test_policy_and_probes_are_for_the_port_of_the_metrics(
    documents: dict[str, Any], container: dict[str, Any]
) -> None:
    [port] = container["ports"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/-/healthy", "port": port["name"]}
    policy, daemon = documents["NetworkPolicy"]["spec"], documents["DaemonSet"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"port": port["name"]}]] and "egress" not in policy
    labels = daemon["spec"]["template"]["metadata"]["labels"]
    assert daemon["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert daemon["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    assert {one["metadata"].get("namespace", "schedtop") for one in documents.values()} == {"schedtop"}
