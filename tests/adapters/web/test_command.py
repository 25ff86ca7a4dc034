"""``codekernel web`` as a person runs it: begun, opened, stopped."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from adapters.web.browsing import Browser, WebProcess
from codekernel.cli.commands.web import has_display
from support.command_line import _enable_sigint, codekernel
from support.kernel_process import KernelProcess
from support.polling import is_true_within

ROOT = Path(__file__).parents[3]
ENVIRON = {"CODEKERNEL_VAULT_KEY": "a" * 64}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(user_data: Path, repo: Path, number: int) -> None:
    with WebProcess(user_data, repo, "--no-browser") as web:
        web.browser()
        web.signal(number)
        code, said = web.finish()
    assert code == 0
    assert "stopping; Ctrl-C again to end at once" in said
    assert said.endswith("codekernel: stopped\n")


def test_a_second_ctrl_c_ends_what_does_not_end(tmp_path: Path) -> None:
    script = (
        "import signal\nfrom codekernel.cli.commands.web import _install_signal_handlers\n"
        "_install_signal_handlers(lambda: None)\nprint('ready', flush=True)\n"
        "while True:\n    signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=_enable_sigint,  # noqa: PLW1509 - does nothing that a thread could hold
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert b"Ctrl-C again" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.slow
def test_it_says_what_it_does_in_plain_words(user_data: Path, repo: Path) -> None:
    with WebProcess(user_data, repo, "--no-browser") as web:
        web.browser()
        web.signal(signal.SIGINT)
        said = web.finish()[1]
    assert f"codekernel: {repo} is registered as the repository demo\n" in said
    assert "Ctrl-C stops codekernel" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_the_folder_is_registered_once(user_data: Path, repo: Path) -> None:
    for _ in range(2):
        with WebProcess(user_data, repo, "--no-browser") as web, web.browser().tab() as tab:
            assert tab.call("getRepos")["repoList"] == [{"name": "demo", "path": str(repo)}]
            web.signal(signal.SIGINT)
            assert web.finish()[0] == 0


@pytest.mark.slow
def test_another_folder_of_the_same_name_gets_a_name_of_its_own(
    user_data: Path, repo: Path, tmp_path: Path
) -> None:
    namesake = tmp_path / "elsewhere" / "demo"
    namesake.mkdir(parents=True)
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.request("createRepo", repoName="demo", path=str(repo))
        kernel.stop()
    for _ in range(2):
        with (
            WebProcess(user_data, tmp_path, str(namesake), "--no-browser") as web,
            web.browser().tab() as tab,
        ):
            listed = {each["name"]: each["path"] for each in tab.call("getRepos")["repoList"]}
            assert listed == {"demo": str(repo), "demo-2": str(namesake)}
            assert tab.open("demo-2")["path"] == str(namesake)


@pytest.mark.slow
def test_inside_a_repository_the_whole_of_it_is_meant(user_data: Path, repo: Path) -> None:
    (repo / ".git").mkdir()
    (repo / "src").mkdir()
    with WebProcess(user_data, repo / "src", "--no-browser") as web, web.browser().tab() as tab:
        assert tab.call("hostInfo")["folder"] == str(repo)


@pytest.mark.slow
def test_at_home_the_list_of_repositories_is_shown(user_data: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with WebProcess(user_data, home, "--no-browser", environ={"HOME": str(home)}) as web:
        path = web.address.partition(str(web.port))[2]
        body = Browser(web.port).get(path)[2]
        assert "url=/repos.html" in body
        web.signal(signal.SIGINT)
        code, said = web.finish()
    assert (code, "is no project" in said) == (0, True)


@pytest.mark.slow
def test_the_repository_is_indexed_without_a_browser(user_data: Path, repo: Path) -> None:
    (repo / "a.py").write_text("def a():\n    pass\n", encoding="utf-8")
    with WebProcess(user_data, repo, "--no-browser") as web:
        web.expect_words("demo is being indexed")
        with web.browser().tab() as tab:  # which is given the session that is there already
            tab.open("demo")
        assert list((user_data / "index").iterdir())


@pytest.mark.parametrize("folder", ["missing", "file.txt"])
def test_a_folder_that_is_none_is_a_usage_error(user_data: Path, repo: Path, folder: str) -> None:
    (repo / "file.txt").touch()
    done = codekernel(user_data, repo, "web", folder, "--no-browser")
    assert (done.returncode, done.stdout) == (2, "")
    assert folder in done.stderr


@pytest.mark.slow
def test_a_port_can_be_chosen_unless_it_is_taken(user_data: Path, repo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = codekernel(user_data, repo, "web", "--no-browser", "--port", port)
        assert done.returncode == 2
        assert f"port {port} cannot be used" in done.stderr
    with WebProcess(user_data, repo, "--no-browser", "--port", port) as web:
        assert web.port == int(port)
    assert codekernel(user_data, repo, "web", "--port", "70000").returncode == 2


@pytest.mark.slow
def test_a_second_kernel_on_the_same_user_data_is_told(user_data: Path, repo: Path) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.event("ready")
        kernel.request("getRepos")
        with WebProcess(user_data, repo, "--no-browser") as web:
            web.browser()
            web.signal(signal.SIGINT)
            assert "another codekernel may be serving the same userData" in web.finish()[1]


def test_run_py_without_arguments_serves_the_current_folder(user_data: Path, repo: Path) -> None:
    source = (ROOT / "scripts" / "run.py").read_text(encoding="utf-8")
    assert "web" in source
    script = f"import sys; sys.argv=['run.py']; sys.path.insert(0, {str(ROOT / 'scripts')!r})\n"
    script += "import run; print(run.build_arguments([], {}), run.build_arguments(['serve'], {}))\n"
    script += "print(run.build_arguments([], {'POCKETRAG_USERDATA_PATH': 'x'}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=repo
    )
    assert done.stdout == "['web'] ['serve']\n[]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="displays are told by variables on Linux only")
def test_a_browser_is_opened_only_where_it_can_be_seen() -> None:
    assert has_display({"DISPLAY": ":0"})
    assert has_display({"WAYLAND_DISPLAY": "wayland-0"})
    assert not has_display({})
    assert not has_display({"DISPLAY": ":0", "CI": "true"})


def test_nothing_heavy_is_imported_before_the_address_is_printed(user_data: Path) -> None:
    script = (
        "import sys, codekernel.cli.commands.web\n"
        "heavy = {'httpx','onnxruntime','numpy','tokenizers','keyring','lancedb','tantivy',"
        "'pyarrow','tree_sitter','watchdog','sqlcipher3','asyncio'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def browser_that_tells(folder: Path) -> tuple[dict[str, str], Path]:
    """A browser whose argument can be read from a pipe, and the environment that chooses it."""
    told = folder / "told"
    os.mkfifo(told)
    script = folder / "mybrowser"
    script.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{told}"\n', encoding="utf-8")
    script.chmod(0o755)
    return {"DISPLAY": ":0", "BROWSER": f"{script} %s", "PATH": "/usr/bin:/bin"}, told


@pytest.mark.skipif(sys.platform == "win32", reason="the browser is a shell script")
@pytest.mark.slow
def test_the_browser_is_started_with_no_secret_and_led_on_by_a_private_file(
    user_data: Path, repo: Path, tmp_path: Path
) -> None:
    environ, told = browser_that_tells(tmp_path)
    with WebProcess(user_data, repo, environ=environ) as web:
        argument = told.read_text(encoding="utf-8")
        file = Path(urlsplit(argument).path)
        assert argument.startswith("file://")
        assert file.parent.parent == user_data
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        (link,) = re.findall(r'href="([^"]+)"', file.read_text(encoding="utf-8"))
        assert link.partition("token=")[2] not in argument
        assert link != web.address
        with Browser.let_in(web.port, link).tab() as tab:
            assert tab.call("getRepos")
        assert is_true_within(lambda: not file.exists())
        assert Browser(web.port).get(link.partition(str(web.port))[2])[0] == 403
        web.browser()  # the printed address is another one, and good still


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such sandboxes")
@pytest.mark.slow
def test_a_browser_in_a_sandbox_gets_an_address_for_our_own_account(
    user_data: Path, repo: Path, tmp_path: Path
) -> None:
    place = tmp_path / "snap" / "bin"
    place.mkdir(parents=True)
    environ, told = browser_that_tells(place)
    with WebProcess(user_data, repo, environ=environ) as web:
        address = told.read_text(encoding="utf-8")
        assert address.startswith(f"http://127.0.0.1:{web.port}/?token=")
        assert address != web.address
        path = address.partition(str(web.port))[2]
        if os.getuid() == 0:
            assert status_for_another_account(web.port, path) == 403
        assert Browser.let_in(web.port, address)
        assert Browser(web.port).get(path)[0] == 403


def status_for_another_account(port: int, path: str) -> int:
    script = (
        "import encodings.idna, http.client, os\nos.setuid(65534)\n"
        f"asked = http.client.HTTPConnection('127.0.0.1', {port}, timeout=60)\n"
        f"asked.request('GET', {path!r})\nprint(asked.getresponse().status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/"
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such sandboxes")
def test_a_sandbox_is_known_by_the_entry_of_the_default_browser(tmp_path: Path) -> None:
    programs, entries = tmp_path / "bin", tmp_path / "share" / "applications"
    programs.mkdir()
    entries.mkdir(parents=True)
    settings = programs / "xdg-settings"
    settings.write_text("#!/bin/sh\necho it.desktop\n", encoding="utf-8")
    settings.chmod(0o755)
    script = (
        "import os\nfrom codekernel.cli.commands.web import is_browser_sandboxed\n"
        "print(is_browser_sandboxed(os.environ))"
    )
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "XDG_DATA_DIRS": str(entries.parent)}
    for content, expected in (("Exec=x", "False"), ("X-SnapInstanceName=firefox", "True")):
        (entries / "it.desktop").write_text(f"[Desktop Entry]\n{content}\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=environ,
        )
        assert done.stdout.strip() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells it")
@pytest.mark.slow
def test_no_secret_stands_in_what_the_kernel_was_started_with(user_data: Path, repo: Path) -> None:
    with WebProcess(user_data, repo, "--no-browser") as web:
        browser = web.browser()
        words = Path("/proc", str(web.process.pid), "cmdline").read_bytes()
        for secret in (browser.secret, browser.cookie.partition("=")[2], web.address[-20:]):
            assert secret.encode() not in words
