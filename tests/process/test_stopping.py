"""Stopping the kernel while requests are running."""

import socket
import sys
from pathlib import Path

from support.kernel_process import KernelProcess, code_of

CRASHING_KERNEL = Path(__file__).parents[1] / "support" / "crashing_kernel.py"


def test_a_test_call_under_way_is_answered_and_the_stop_is_clean(kernel: KernelProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        callback_id = kernel.post(
            "testApi", modelName="m", url=f"http://127.0.0.1:{port}", api="secret"
        )
        connection, _ = silent.accept()
        with connection:
            assert kernel.stop() == 0
    assert code_of(kernel.reply_to(callback_id)) != "SUCCESS"


def test_other_requests_do_not_wait_for_a_test_call(kernel: KernelProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        kernel.post("testApi", modelName="m", url=f"http://127.0.0.1:{port}", api="secret")
        connection, _ = silent.accept()
        with connection:
            assert code_of(kernel.request("getRepos")) == "SUCCESS"
            assert code_of(kernel.request("checkSettings")) == "INVALID_SETTINGS"


def test_a_kernel_that_breaks_says_so_answers_what_it_has_and_exits_with_an_error(
    user_data: Path, repo: Path
) -> None:
    with KernelProcess(user_data, command=[sys.executable, str(CRASHING_KERNEL)]) as kernel:
        created = kernel.post("createRepo", repoName="demo", path=str(repo))
        kernel.write(b"break\n")
        assert kernel.exit_code() == 1
        assert code_of(kernel.reply_to(created)) == "SUCCESS"
        assert kernel.lines[-1]["message"] == {
            "type": "kernelServerCrashed",
            "error": "no memory left",
        }
        assert "no memory left" in kernel.log
    with KernelProcess(user_data) as kernel:
        assert len(kernel.request("getRepos")["data"]["repoList"]) == 1
