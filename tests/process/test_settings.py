import json
import shutil
from pathlib import Path

import pytest
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


def chat_models(*names: str, set_api_key: bool = False) -> dict[str, object]:
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
        assert kernel.stop() == 0
        assert "unplugged" in kernel.stderr
