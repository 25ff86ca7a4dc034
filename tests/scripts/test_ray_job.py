"""The RayJob of KubeRay: its command is one of ours, and its parts fit together."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from codekernel.cli.command_line import parse_arguments

JOB = Path(__file__).parents[2] / "scripts" / "packaging" / "team" / "ray-job.yaml"


@pytest.fixture
def spec() -> dict[str, Any]:
    job = yaml.safe_load(JOB.read_text("utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    found: dict[str, Any] = job["spec"]
    return found


def list_groups(spec: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = spec["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_the_command_is_one_of_ours(spec: dict[str, Any]) -> None:
    words = shlex.split(spec["entrypoint"])
    args = parse_arguments(words[1:])
    assert words[0] == "codekernel"
    assert (args.command, args.on, args.ray_address) == ("build-base", "ray", "auto")


def test_every_node_has_the_same_program_keys_and_repositories(spec: dict[str, Any]) -> None:
    pods = [group["template"]["spec"] for group in list_groups(spec)]
    containers = [container for pod in pods for container in pod["containers"]]
    for name in ("image", "envFrom"):
        assert len({str(each[name]) for each in containers}) == 1, name
    for pod in pods:
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounted = {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]}
        assert mounted == volumes
    claims = {str(pod["volumes"]) for pod in pods}
    assert len(claims) == 1


def test_exported_files_are_where_every_node_sees_them(spec: dict[str, Any]) -> None:
    head = list_groups(spec)[0]["template"]["spec"]["containers"][0]
    temporary = {each["name"]: each["value"] for each in head["env"]}["TMPDIR"]
    for group in list_groups(spec):
        (container,) = group["template"]["spec"]["containers"]
        paths = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert any(temporary.startswith(f"{path}/") for path in paths)


def test_nothing_is_reported_and_no_token_of_the_cluster_is_given(spec: dict[str, Any]) -> None:
    for group in list_groups(spec):
        assert group["rayStartParams"]["disable-usage-stats"] == "true"
        pod = group["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
            assert container["resources"]["limits"]["memory"]


def test_no_key_is_in_the_file() -> None:
    text = JOB.read_text("utf-8")
    assert "secretKeyRef" not in text
    assert "secretRef" in text
