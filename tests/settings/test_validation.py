import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from codekernel.domain.settings import AgentCommand, Hardware
from codekernel.errors import InvalidSettings, VaultUnavailable
from codekernel.protocol.settings_file import (
    HubSection,
    SettingsFile,
    SharingSection,
    parse_settings,
)
from codekernel.settings.live import LiveSettings
from codekernel.settings.loading import (
    check_settings_file,
    list_endpoint_warnings,
    list_unmet_requirements,
    load_settings_file,
)
from codekernel.settings.validation import (
    find_plain_endpoint_warnings,
    find_rule_violations,
    is_plain_http_to_remote,
)

EMBEDDING = "searchSettings.embeddingConfig.configs"
RERANK = "searchSettings.rerankConfig.configs"
LOCAL = "localModelManagement.models"
CHAT = "conversationSettings.generationModel"
NUMBER = 2**53

CASES: list[tuple[str, Any, str]] = [
    ("searchSettings.searchLimit", 0, "must be at least 1, got 0"),
    ("searchSettings.searchLimit", -5, "must be at least 1, got -5"),
    ("searchSettings.searchLimit", 10_001, "must be at most 10000, got 10001"),
    ("searchSettings.searchLimit", 10**40, f"must be at most 10000, got {10**40}"),
    (f"{EMBEDDING}[1].name", "m3-512", f'must be unique, but {EMBEDDING}[0].name is "m3-512" too'),
    (f"{EMBEDDING}[0].name", "", "must not be empty"),
    (f"{EMBEDDING}[0].name", " ", "must not be empty"),
    (
        f"{EMBEDDING}[0].modelName",
        "nowhere",
        'must be the name of a local model of type embedding, got "nowhere"',
    ),
    (
        f"{EMBEDDING}[0].modelName",
        "reranker",
        'must be the name of a local model of type embedding, but "reranker" is of type rerank',
    ),
    (f"{EMBEDDING}[0].inputLength", 0, "must be at least 1, got 0"),
    (f"{EMBEDDING}[0].inputLength", 1_000_001, "must be at most 1000000, got 1000001"),
    (
        f"{RERANK}[0].modelName",
        "nowhere",
        'must be the name of a local model of type rerank or embedding, got "nowhere"',
    ),
    (
        f"{RERANK}[1].modelName",
        "reranker",
        f'must be unique, but {RERANK}[0].modelName is "reranker" too',
    ),
    (f"{RERANK}[0].modelName", "", "must not be empty"),
    (f"{LOCAL}[1].name", "bge-m3", f'must be unique, but {LOCAL}[0].name is "bge-m3" too'),
    (f"{LOCAL}[1].name", "", "must not be empty"),
    (f"{LOCAL}[1].path", "bge-small", 'must be an absolute path, got "bge-small"'),
    (f"{LOCAL}[1].path", "", 'must be an absolute path, got ""'),
    (f"{LOCAL}[1].path", "~/models", 'must be an absolute path, got "~/models"'),
    (f"{LOCAL}[1].fileSize", -0.5, "must be at least 0, got -0.5"),
    (f"{CHAT}[1].name", "deepseek", f'must be unique, but {CHAT}[0].name is "deepseek" too'),
    (f"{CHAT}[1].name", "", "must not be empty"),
    (f"{CHAT}[0].modelName", "", "must not be empty"),
    (f"{CHAT}[0].url", "", "must not be empty when setApiKey is true"),
    *(
        (f"{CHAT}[1].url", url, "must start with http:// or https:// and name a host")
        for url in (
            "api.deepseek.com",
            "ftp://api.deepseek.com",
            "file:///etc/passwd",
            "https://",
            "https:///v1",
            "https://[::1",
            "http://host:port",
            "http://host:99999",
            " https://host",
            "https://ho st",
            "https://host/\n",
            "sk-a-key-in-the-wrong-field",
        )
    ),
    ("conversationSettings.historyLength", -1, "must be at least 0, got -1"),
    (
        "conversationSettings.historyLength",
        NUMBER,
        f"must be at most {NUMBER - 1}, got {NUMBER}",
    ),
    ("conversationSettings.maxRounds", -1, "must be at least 0, got -1"),
    ("conversationSettings.maxRounds", 21, "must be at most 20, got 21"),
    (f"{CHAT}[0].inputPrice", -0.5, "must be at least 0, got -0.5"),
    (f"{CHAT}[0].outputPrice", -1, "must be at least 0, got -1"),
    (f"{CHAT}[0].contextTokens", 10, "must be at least 1024, got 10"),
    ("performance.maxThreads", -1, "must be at least 0, got -1"),
    ("performance.maxThreads", NUMBER, f"must be at most {NUMBER - 1}, got {NUMBER}"),
]


def put(document: Any, key: str, value: Any) -> None:
    *parents, last = key.replace("[", ".").replace("]", "").split(".")
    for parent in parents:
        document = document[int(parent) if parent.isdigit() else parent]
    document[last] = value


def problems_of(path: Path, machine: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(path, **machine)
    message = str(caught.value)
    assert message.startswith("Failed in checking settings: ")
    return message.removeprefix("Failed in checking settings: ").split("; ")


@pytest.mark.parametrize(("key", "value", "reason"), CASES)
def test_a_broken_rule_is_reported_with_its_key_and_reason(  # noqa: PLR0913, PLR0917
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    key: str,
    value: Any,
    reason: str,
) -> None:
    put(document, key, value)
    assert f"{key} {reason}" in problems_of(write(document), machine)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("searchSettings.searchLimit", 1),
        ("searchSettings.searchLimit", 10_000),
        (f"{EMBEDDING}[0].inputLength", 1),
        (f"{EMBEDDING}[0].inputLength", 1_000_000),
        (f"{EMBEDDING}[0].modelName", "bge-small"),
        (f"{RERANK}[0].selected", False),
        (f"{RERANK}[1].modelName", "reranker-2"),
        (f"{LOCAL}[1].fileSize", 0),
        (f"{LOCAL}[1].type", "generation"),
        (f"{CHAT}[0].url", "http://localhost:11434"),
        (f"{CHAT}[0].url", "https://[::1]:8080/v1"),
        (f"{CHAT}[0].url", "HTTPS://例え.jp/v1?a=b"),
        ("conversationSettings.historyLength", 0),
        ("conversationSettings.historyLength", NUMBER - 1),
        ("conversationSettings.maxRounds", 0),
        ("conversationSettings.summarizeHistory", True),
        (f"{CHAT}[0].inputPrice", 0.28),
        (f"{CHAT}[0].outputPrice", None),
        (f"{CHAT}[0].contextTokens", 65_536),
        ("performance.maxThreads", NUMBER - 1),
        (EMBEDDING, []),
        (RERANK, []),
        (CHAT, []),
    ],
)
def test_the_limits_themselves_are_allowed(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], key: str, value: Any
) -> None:
    put(document, key, value)
    check_settings_file(write(document), **machine)


def test_only_one_reranker_may_be_selected(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    put(document, f"{RERANK}[1].selected", value=True)
    assert problems_of(write(document), machine) == [
        f"{RERANK} must have at most one selected, got 2"
    ]


def test_all_problems_are_reported_at_once(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    put(document, "searchSettings.searchLimit", 0)
    put(document, f"{LOCAL}[2].path", str(gone))
    put(document, "performance.maxThreads", -1)
    put(document, "performance.useCuda", value=True)
    assert problems_of(write(document), machine) == [
        "searchSettings.searchLimit must be at least 1, got 0",
        "performance.maxThreads must be at least 0, got -1",
        f"{LOCAL}[2].path: there is no folder {gone}",
        "performance.useCuda: CUDA is not available on this machine",
    ]


def test_a_key_pasted_into_the_url_is_not_repeated(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    put(document, f"{CHAT}[0].url", "sk-very-secret")
    assert "sk-very-secret" not in "".join(problems_of(write(document), machine))


def closed_vault(_name: str) -> NoReturn:
    raise VaultUnavailable("the vault cannot be opened")


def lost_driver() -> NoReturn:
    raise OSError("the driver does not answer")


def without_folder(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += "-unplugged"
    return f"localModelManagement.models[2].path: there is no folder {model['path']}"


def with_a_file_for_a_folder(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += ".txt"
    Path(model["path"]).write_text("no folder", encoding="utf-8")
    return f"localModelManagement.models[2].path: there is no folder {model['path']}"


def with_an_endless_path(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += "x" * 5000
    return "localModelManagement.models[2].path: "


def with_cuda(document: Any) -> str:
    document["performance"]["useCuda"] = True
    return "performance.useCuda: CUDA is not available on this machine"


def with_coreml(document: Any) -> str:
    document["performance"]["useCoreML"] = True
    return "performance.useCoreML: CoreML is not available on this machine"


CIRCUMSTANCES = [
    without_folder,
    with_a_file_for_a_folder,
    with_an_endless_path,
    with_cuda,
    with_coreml,
]


@pytest.mark.parametrize("worsen", CIRCUMSTANCES)
def test_a_check_refuses_what_the_machine_does_not_offer(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    worsen: Callable[[Any], str],
) -> None:
    message = worsen(document)
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(write(document), **machine)
    assert str(caught.value).startswith(f"Failed in checking settings: {message}")


@pytest.mark.parametrize("worsen", CIRCUMSTANCES)
def test_start_up_keeps_the_settings_and_warns(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    worsen: Callable[[Any], str],
) -> None:
    message = worsen(document)
    path = write(document)
    settings, warnings = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert warnings == []
    assert warning.startswith(f"settings.json: {message}")
    assert [config.name for config in settings.embedding_configs] == ["m3-512", "m3-1024"]


def test_a_promised_key_must_be_stored_before_the_check(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    asked: list[str] = []
    machine["has_key"] = asked.append  # answers None: nothing stored
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(write(document), **machine)
    assert str(caught.value) == (
        "Failed in checking settings: conversationSettings.generationModel[0].setApiKey:"
        ' no API key is stored under "deepseek", send setApiKey first'
    )
    assert asked == ["deepseek"]  # setApiKey is false for the other one


def test_a_vault_that_cannot_be_opened_is_the_problem(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    machine["has_key"] = closed_vault
    path = write(document)
    with pytest.raises(InvalidSettings, match="the vault cannot be opened"):
        check_settings_file(path, **machine)
    settings, _ = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert "the vault cannot be opened" in warning
    assert settings.generation_models[0].needs_key


def test_hardware_that_cannot_be_read_is_the_problem(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    machine["hardware"] = lost_driver
    path = write(document)
    with pytest.raises(InvalidSettings, match="the driver does not answer"):
        check_settings_file(path, **machine)
    settings, _ = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert "the driver does not answer" in warning
    assert settings.performance.use_cuda


def test_the_hardware_is_asked_only_if_an_accelerator_is_wanted(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    machine["hardware"] = lost_driver
    check_settings_file(write(document), **machine)


def test_accelerators_that_work_may_be_used(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    with_coreml(document)
    machine["hardware"] = lambda: Hardware(has_cuda=True, has_coreml=True)
    performance = check_settings_file(write(document), **machine).performance
    assert performance.use_cuda
    assert performance.use_coreml


def test_the_cached_availability_in_the_file_is_not_believed(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    document["performance"] |= {"cuda available": True, "cudaAvailable": True}
    with pytest.raises(InvalidSettings, match="CUDA is not available"):
        check_settings_file(write(document), **machine)


def without_onnx(folder: Path) -> str:
    (folder / "model.onnx").unlink()
    return "it has neither model.onnx nor onnx/model.onnx"


def without_tokenizer(folder: Path) -> str:
    (folder / "tokenizer.json").unlink()
    return "has no tokenizer; it needs one of: tokenizer.json"


def with_an_empty_model(folder: Path) -> str:
    (folder / "model.onnx").write_bytes(b"")
    return "model.onnx is empty; the download or copy did not finish"


@pytest.mark.parametrize("spoil", [without_onnx, without_tokenizer, with_an_empty_model])
@pytest.mark.parametrize("name", ["bge-m3", "reranker"])
def test_a_selected_model_whose_folder_holds_none_is_refused_by_what_is_missing(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    name: str,
    spoil: Callable[[Path], str],
) -> None:
    path = write(document)
    tmp_path = path.parent
    missing = spoil(tmp_path / name)
    with pytest.raises(InvalidSettings) as refusal:
        check_settings_file(path, **machine)
    place = "embeddingConfig" if name == "bge-m3" else "rerankConfig"
    assert f'searchSettings.{place}.configs[0].modelName: "{name}" cannot be used: ' in str(
        refusal.value
    )
    assert missing in str(refusal.value)
    assert str(tmp_path / name) in str(refusal.value)
    for kind in ("embeddingConfig", "rerankConfig"):
        for config in document["searchSettings"][kind]["configs"]:
            config["selected"] = False
    check_settings_file(write(document), **machine)  # nobody needs it


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/v1",
        "HTTP://API.EXAMPLE.COM",
        "http://192.168.1.5:8080/v1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com/v1",
        "http://[fd00::1]/v1",
    ],
)
def test_plain_http_to_another_machine_is_known(url: str) -> None:
    assert is_plain_http_to_remote(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://localhost:11434",
        "http://LOCALHOST.:1/",
        "http://model.localhost/v1",
        "http://127.8.8.8/v1",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "",
        "http://[",
    ],
)
def test_encrypted_addresses_and_this_machine_are_not(url: str) -> None:
    assert not is_plain_http_to_remote(url)


def test_settings_warn_of_a_key_that_would_be_sent_in_plain_text(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = document["conversationSettings"]["generationModel"][0]
    model["url"] = "http://chat.example.com/v1"
    path = write(document)
    (warning,) = list_endpoint_warnings(path, has_key=lambda name: name == "deepseek")
    assert "generationModel[0].url" in warning
    assert "chat.example.com" in warning
    assert list_endpoint_warnings(path, has_key=lambda _: False) == []
    live = LiveSettings(path, path, **machine)
    live.load()
    assert live.log_unmet_requirements() == [warning]
    assert live.check_modified() == live.update() == [warning]
    assert caplog.text.count("chat.example.com") == 2  # at the start, and when they were saved
    model["url"] = "https://chat.example.com/v1"
    write(document)
    assert live.update() == []


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ([{"name": "a", "command": " "}], "agents[0].command must not be empty"),
        ([{"name": " ", "command": "a"}], "agents[0].name must not be empty"),
        (
            [{"name": "codekernel", "command": "a"}],
            'agents[0].name must not be "codekernel", which is our own agent',
        ),
        (
            [{"name": "a", "command": "a"}] * 2,
            'agents[1].name must be unique, but agents[0].name is "a" too',
        ),
    ],
)
def test_a_foreign_agent_has_a_name_of_its_own_and_a_command(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    agents: list[dict[str, str]],
    problem: str,
) -> None:
    document["agents"] = agents
    file = write(document)
    assert problem in problems_of(file, machine)
    settings, warnings = load_settings_file(file)
    assert settings.agents == ()
    assert problem in warnings[0]


def test_foreign_agents_are_read(document: Any, write: Callable[[Any], Path]) -> None:
    document["agents"] = [{"name": "a", "command": "b", "args": ["acp"], "env": {"C": "d"}}]
    settings, warnings = load_settings_file(write(document))
    assert warnings == []
    assert settings.agents == (AgentCommand("a", "b", ("acp",), {"C": "d"}),)


@pytest.mark.parametrize(
    ("section", "place"),
    [
        (HubSection(port=0), "hub.port"),
        (HubSection(port=65_536), "hub.port"),
        *(
            (HubSection(origins=["https://a.example", origin]), "hub.origins[1]")
            for origin in (
                "a.example", "https://", "ftp://a.example", "https://a.example/", "*", "null", "",
                "https://a.example/path", "https://me@a.example", "https://A.example",
                "https://a.example:x", "https://[::1",
            )
        ),
        *(
            (HubSection(tunnel_url=url), "hub.tunnelUrl")
            for url in ("hub.example", "http://hub.example", "https://hub.example/x")
        ),
    ],
)  # fmt: skip
def test_rules_of_the_hub(section: HubSection, place: str) -> None:
    (violation,) = find_rule_violations(SettingsFile(hub=section))
    assert violation.startswith(f"{place} must be ")


def test_a_hub_with_a_tunnel_and_a_foreign_page_breaks_no_rule() -> None:
    section = HubSection(
        port=443,
        origins=["https://app.example.com", "http://localhost:3000"],
        tunnel_url="https://hub.example.com",
    )
    assert find_rule_violations(SettingsFile(hub=section)) == []


@pytest.mark.parametrize(
    ("section", "place"),
    [
        (SharingSection(store="team"), "sharing.store"),
        (SharingSection(store="ftp://host/x"), "sharing.store"),
        (SharingSection(store="s3://"), "sharing.store"),
        (SharingSection(store="s3://id:secret@bucket"), "sharing:credentials"),
        (SharingSection(store="s3://team", endpoint="minio:9000"), "sharing.endpoint"),
        (SharingSection(trusted_keys=["a secret word"]), "sharing.trustedKeys"),
    ],
)
def test_rules_of_sharing(section: SharingSection, place: str) -> None:
    (violation,) = find_rule_violations(SettingsFile(sharing=section))
    assert place in violation
    assert "secret" not in violation


@pytest.mark.parametrize("store", ["", "s3://team/code", "gs://team", "az://team", str(Path.cwd())])
def test_a_folder_or_a_bucket_breaks_no_rule(store: str) -> None:
    sharing = SharingSection(store=store, endpoint="http://127.0.0.1:8333")
    assert find_rule_violations(SettingsFile(sharing=sharing)) == []


def test_an_unknown_mode_of_sharing_is_explained() -> None:
    with pytest.raises(InvalidSettings, match=r"sharing.mode must be one of read, read-write"):
        parse_settings(b'{"sharing": {"mode": "write"}}')


def check_endpoint(**facts: object) -> list[str]:
    endpoint = {"url": "https://gpu.example.com/v1", "modelName": "m"} | facts
    model = {"name": "far", "path": "", "type": "embedding", "endpoint": endpoint}
    file = parse_settings(json.dumps({"localModelManagement": {"models": [model]}}).encode())
    return find_rule_violations(file)


def test_a_server_needs_an_address_and_a_name_and_no_path() -> None:
    place = "localModelManagement.models[0].endpoint"
    assert check_endpoint() == []
    assert check_endpoint(url="gpu.example.com") == [
        f"{place}.url must start with http:// or https:// and name a host"
    ]
    (problem,) = check_endpoint(url="https://me:secret@gpu.example.com/v1")
    assert "secret" not in problem
    assert check_endpoint(modelName=" ") == [f"{place}.modelName must not be empty"]
    assert check_endpoint(batchSize=0) == [f"{place}.batchSize must be at least 1, got 0"]


def test_code_that_would_travel_in_plain_text_is_warned_of() -> None:
    endpoint = {"url": "http://gpu.example.com/v1", "modelName": "m"}
    model = {"name": "far", "path": "", "type": "embedding", "endpoint": endpoint}
    file = parse_settings(json.dumps({"localModelManagement": {"models": [model]}}).encode())
    (warning,) = find_plain_endpoint_warnings(file)
    assert "gpu.example.com" in warning
