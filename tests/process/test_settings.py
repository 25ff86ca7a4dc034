"""Settings messages over a real kernel process."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.chat_endpoint import RIGHT_KEY, chat_endpoint
from support.kernel_process import KernelProcess, code_of, reason_of

EXAMPLE = Path(__file__).parents[2] / "userData.example" / "settings.json"


def settings(**changes: object) -> dict[str, object]:
    return {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {"configs": []},
            "rerankConfig": {"configs": []},
        },
        "localModelManagement": {"models": []},
        "conversationSettings": {"generationModel": [], "historyLength": 1000},
        "performance": {"maxThreads": 0, "useCuda": False, "useCoreML": False},
        **changes,
    }


def chat_models(*names: str, set_api_key: bool = False) -> dict[str, Any]:
    return {
        "historyLength": 0,
        "generationModel": [
            {
                "name": name,
                "modelName": f"{name}-chat",
                "url": "http://127.0.0.1:1/v1/chat/completions",
                "setApiKey": set_api_key,
            }
            for name in names
        ],
    }


def write(user_data: Path, name: str, content: dict[str, object]) -> None:
    (user_data / name).write_text(json.dumps(content), encoding="utf-8")


def models_of(kernel: KernelProcess) -> list[str]:
    reply = kernel.request("getGenerationModels")
    return [model["name"] for model in reply["data"]["modelList"]]


def test_the_change_of_settings_goes_key_check_move_update(
    kernel: KernelProcess, user_data: Path
) -> None:
    changed = settings(conversationSettings=chat_models("deepseek", set_api_key=True))
    write(user_data, "settings-modified.json", changed)
    refused = kernel.request("checkSettings")
    assert code_of(refused) == "INVALID_SETTINGS"
    assert "setApiKey" in reason_of(refused)

    kernel.post("setApiKey", name="deepseek", apiKey="secret")
    assert code_of(kernel.request("checkSettings", windowId=3)) == "SUCCESS"
    assert models_of(kernel) == []
    (user_data / "settings-modified.json").replace(user_data / "settings.json")
    assert code_of(kernel.request("updateSettings")) == "SUCCESS"
    assert models_of(kernel) == ["deepseek"]


def test_a_failed_update_keeps_the_old_settings(user_data: Path) -> None:
    write(user_data, "settings.json", settings(conversationSettings=chat_models("old")))
    with KernelProcess(user_data) as kernel:
        assert models_of(kernel) == ["old"]
        (user_data / "settings.json").write_text('{"searchSettings": ', encoding="utf-8")
        assert code_of(kernel.request("updateSettings")) == "INVALID_SETTINGS"
        assert models_of(kernel) == ["old"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        *(
            pytest.param(content, marks=pytest.mark.slow)
            for content in (b"", b"\xff\xfe\x00", b"[]", b'{"performance": NaN}')
        ),
    ],
)
def test_broken_settings_mean_defaults_and_a_warning(user_data: Path, content: bytes) -> None:
    (user_data / "settings.json").write_bytes(content)
    with KernelProcess(user_data) as kernel:
        assert models_of(kernel) == []
        assert kernel.stop() == 0
        assert "the default settings are used" in kernel.stderr
        assert "the default settings are used" in kernel.log
    assert (user_data / "settings.json").read_bytes() == content


def test_the_example_user_data_is_taken_without_a_word(user_data: Path) -> None:
    shutil.copy(EXAMPLE, user_data)
    with KernelProcess(user_data) as kernel:
        assert models_of(kernel) == ["deepseek"]
        assert kernel.stop() == 0
        assert kernel.stderr == ""


@pytest.mark.parametrize(
    ("section", "value", "named"),
    [
        ("performance", {"maxThreads": -1, "useCuda": False, "useCoreML": False}, "maxThreads"),
        ("performance", {"maxThreads": 10**30, "useCuda": False, "useCoreML": False}, "maxThreads"),
        ("performance", {"maxThreads": "4", "useCuda": False, "useCoreML": False}, "maxThreads"),
        ("conversationSettings", {"generationModel": [], "historyLength": -5}, "historyLength"),
        ("localModelManagement", {"models": [{"name": "m"}]}, "models"),
    ],
)
def test_a_broken_rule_is_named(
    shared_kernel: KernelProcess, section: str, value: object, named: str
) -> None:
    write(shared_kernel.user_data, "settings-modified.json", settings(**{section: value}))
    reply = shared_kernel.request("checkSettings")
    assert code_of(reply) == "INVALID_SETTINGS"
    assert named in reason_of(reply)


def test_an_accelerator_that_does_not_work_cannot_be_chosen(
    kernel: KernelProcess, user_data: Path
) -> None:
    hardware = kernel.request("getAvailableHardware")["data"]
    assert hardware.keys() == {"cudaAvailable", "coreMLAvailable"}
    for key, setting in (("cudaAvailable", "useCuda"), ("coreMLAvailable", "useCoreML")):
        asked = {"maxThreads": 0, "useCuda": False, "useCoreML": False, setting: True}
        write(user_data, "settings-modified.json", settings(performance=asked))
        reply = kernel.request("checkSettings")
        assert (code_of(reply) == "SUCCESS") == hardware[key]


@pytest.mark.slow
def test_settings_that_ask_for_what_is_missing_now_are_kept_with_a_warning(user_data: Path) -> None:
    write(
        user_data,
        "settings.json",
        settings(
            conversationSettings=chat_models("deepseek", set_api_key=True),
            localModelManagement={
                "models": [{"name": "m", "path": str(user_data / "unplugged"), "type": "embedding"}]
            },
        ),
    )
    with KernelProcess(user_data) as kernel:
        assert models_of(kernel) == ["deepseek"]
        kernel.wait_for_stderr("unplugged")  # looked for after the start, which waits for nothing
        assert kernel.stop() == 0


def test_the_settings_in_force_are_shown_and_what_is_only_written_is_not(
    kernel: KernelProcess, user_data: Path
) -> None:
    first = kernel.request("getSettings")["data"]
    assert first["trouble"] == ""
    assert first["settings"]["searchSettings"]["searchLimit"] == 10
    written = settings(conversationSettings=chat_models("deepseek"))
    (user_data / "settings.json").write_text(json.dumps(written), encoding="utf-8")
    assert kernel.request("getSettings")["data"] == first
    kernel.request("setApiKey", name="deepseek", apiKey="sk-never-shown")
    assert code_of(kernel.request("updateSettings")) == "SUCCESS"
    shown = kernel.request("getSettings")
    names = [
        model["name"]
        for model in shown["data"]["settings"]["conversationSettings"]["generationModel"]
    ]
    assert names == ["deepseek"]
    assert "sk-never-shown" not in json.dumps(kernel.lines)
    (user_data / "settings.json").write_text(
        json.dumps(shown["data"]["settings"]), encoding="utf-8"
    )
    assert code_of(kernel.request("updateSettings")) == "SUCCESS"
    assert kernel.request("getSettings")["data"] == shown["data"]


def test_a_broken_file_at_the_start_is_told_with_the_settings(user_data: Path) -> None:
    (user_data / "settings.json").write_text("{", encoding="utf-8")
    with KernelProcess(user_data) as kernel:
        data = kernel.request("getSettings")["data"]
    assert "settings.json" in data["trouble"]
    assert data["settings"]["searchSettings"]["searchLimit"] == 10


def test_models_of_the_settings_are_listed_with_their_trouble_before_those_in_the_box(
    kernel: KernelProcess, user_data: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    model = {"name": "mine", "path": str(tmp_path / "mine"), "type": "rerank", "fileSize": 5}
    written = settings(localModelManagement={"models": [model]})
    (user_data / "settings.json").write_text(json.dumps(written), encoding="utf-8")
    assert code_of(kernel.request("updateSettings")) == "SUCCESS"
    mine, static, *_ = kernel.request("getModels")["data"]["models"]
    assert (mine["name"], mine["type"], mine["builtIn"]) == ("mine", "rerank", False)
    assert "is not a model" in mine["trouble"]
    assert (static["builtIn"], static["dimension"], static["trouble"]) == (True, 256, "")


def test_a_stored_key_is_tried_at_the_address_of_the_settings_and_at_no_other(
    user_data: Path,
) -> None:
    with chat_endpoint() as url:
        chat = chat_models("deepseek")
        chat["generationModel"][0]["url"] = url
        write(user_data, "settings.json", settings(conversationSettings=chat))
        with KernelProcess(user_data) as kernel:
            kernel.request("setApiKey", name="deepseek", apiKey=RIGHT_KEY)
            tried = kernel.request("testApi", modelName="m", url=url, keyName="deepseek")
            elsewhere = kernel.request(
                "testApi", modelName="m", url=f"{url}?elsewhere", keyName="deepseek"
            )
            kernel.request("setApiKey", name="deepseek", apiKey="")
            forgotten = kernel.request("testApi", modelName="m", url=url, keyName="deepseek")

    assert code_of(tried) == "SUCCESS"
    assert code_of(elsewhere) == "WRONG_PARAM"
    assert code_of(forgotten) == "API_KEY_NOT_FOUND"
