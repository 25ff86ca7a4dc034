"""API keys and the vault over a real kernel process."""

from pathlib import Path

import pytest
from support.kernel_process import KernelProcess, code_of

KEY = "sk-correct-horse-battery-staple-0123456789"


def everything_but_the_answer(kernel: KernelProcess, answer_callback: int) -> str:
    """All the kernel has written anywhere, its one permitted answer left out."""
    said = [
        raw
        for raw, line in zip(kernel.raw, kernel.lines, strict=True)
        if line["callbackId"] != answer_callback
    ]
    files = [path.read_bytes() for path in kernel.user_data.rglob("*") if path.is_file()]
    return b"\n".join([*said, *files, kernel.stderr.encode()]).decode("latin-1")


def test_a_key_comes_back_only_as_the_answer_to_get_api_key(
    kernel: KernelProcess, user_data: Path
) -> None:
    assert code_of(kernel.request("setApiKey", name="deepseek", apiKey=KEY)) == "SUCCESS"
    answer = kernel.request("getApiKey", name="deepseek")
    assert answer["data"] == {"apiKey": KEY}
    kernel.request("setApiKey", name="deepseek", apiKey=[KEY])
    kernel.request("setApikey", name="deepseek", apiKey=KEY)
    kernel.request("testApi", modelName="m", url=f"http://127.0.0.1:1/{KEY}", api=KEY)
    kernel.request("testApi", name="m", url="not a url", apiKey=KEY)
    kernel.request("testApi", modelName="m", api=KEY)
    kernel.write(f'{{"message":{{"type":"setApiKey","apiKey":"{KEY}"\n'.encode())
    kernel.write(
        b'{"callbackId":5,"isReply":false,"sessionId":"x","toMain":true,'
        b'"message":{"type":"setApiKey","apiKey":"' + KEY.encode() + b'"}}\n'
    )
    kernel.reply_to(5)
    assert kernel.stop() == 0
    url_aside = everything_but_the_answer(kernel, answer["callbackId"]).replace(
        f"http://127.0.0.1:1/{KEY}", ""
    )
    assert KEY not in url_aside
    with KernelProcess(user_data) as again:
        assert again.request("getApiKey", name="deepseek")["data"] == {"apiKey": KEY}


def test_the_echo_of_a_key_is_masked(shared_kernel: KernelProcess) -> None:
    reply = shared_kernel.request("setApiKey", name="deepseek", apiKey=KEY, windowId=3)
    assert reply["message"] == {
        "type": "setApiKey",
        "name": "deepseek",
        "apiKey": "***",
        "windowId": 3,
    }


def test_an_unknown_or_forgotten_key_is_not_found(shared_kernel: KernelProcess) -> None:
    assert code_of(shared_kernel.request("getApiKey", name="nobody")) == "API_KEY_NOT_FOUND"
    shared_kernel.request("setApiKey", name="deepseek", apiKey=KEY)
    shared_kernel.request("setApiKey", name="deepseek", apiKey="")
    assert code_of(shared_kernel.request("getApiKey", name="deepseek")) == "API_KEY_NOT_FOUND"


@pytest.mark.slow
def test_after_a_wrong_vault_key_the_kernel_works_and_the_old_vault_is_kept_aside(
    user_data: Path, repo: Path
) -> None:
    right, wrong = {"CODEKERNEL_VAULT_KEY": "a" * 64}, {"CODEKERNEL_VAULT_KEY": "b" * 64}
    with KernelProcess(user_data, environ=right) as kernel:
        kernel.request("createRepo", repoName="demo", path=str(repo))
        kernel.request("setApiKey", name="deepseek", apiKey=KEY)
        assert kernel.stop() == 0
    with KernelProcess(user_data, environ=wrong) as kernel:
        listed = kernel.request("getRepos")["data"]["repoList"]
        assert [entry["name"] for entry in listed] == ["demo"]  # from the list beside the vault
        refused = kernel.request("getApiKey", name="deepseek")
        assert code_of(refused) == "API_KEY_NOT_FOUND"
        assert "set aside as kernel.db.unreadable-" in refused["status"]["message"]
        assert kernel.stop() == 0
    (aside,) = (user_data / "db").glob("kernel.db.unreadable-*[0-9]")
    aside.replace(user_data / "db" / "kernel.db")
    with KernelProcess(user_data, environ=right) as kernel:
        assert [entry["name"] for entry in kernel.request("getRepos")["data"]["repoList"]] == [
            "demo"
        ]


@pytest.mark.parametrize(
    "key",
    [
        "x" * 64,
        pytest.param("short", marks=pytest.mark.slow),
        pytest.param("a" * 63, marks=pytest.mark.slow),
    ],
)
def test_a_malformed_vault_key_is_refused_without_being_repeated(user_data: Path, key: str) -> None:
    with KernelProcess(user_data, environ={"CODEKERNEL_VAULT_KEY": key}) as kernel:
        refused = kernel.request("getRepos")
        assert code_of(refused) == "UNKNOW_ERROR"
        assert "64" in refused["status"]["message"]
        assert key not in refused["status"]["message"]
        assert kernel.stop() == 0
    assert not (user_data / "db" / "kernel.db").exists()
