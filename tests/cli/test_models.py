"""``codekernel models allow`` with a real kernel and a server of embeddings."""

import json
from pathlib import Path

import pytest
from support.command_line import codekernel
from support.embedding_server import EmbeddingServer, embedding_server


def write_settings(user_data: Path, server: EmbeddingServer) -> None:
    endpoint = {"url": server.url, "modelName": "words", "inputPrice": 2.0}
    models = [{"name": "far", "path": "", "type": "embedding", "endpoint": endpoint}]
    configs = [{"name": "far", "modelName": "far", "inputLength": 950, "selected": True}]
    search = {"searchLimit": 10, "embeddingConfig": {"configs": configs}}
    file = {"searchSettings": search, "localModelManagement": {"models": models}}
    (user_data / "settings.json").write_text(json.dumps(file), encoding="utf-8")


@pytest.mark.slow
def test_a_person_sees_what_would_be_sent_and_allows_it(user_data: Path, repo: Path) -> None:
    (repo / "session.py").write_text("def close_session(user):\n    user.leave()\n", "utf-8")
    with embedding_server() as server:
        write_settings(user_data, server)

        def run(*words: str) -> tuple[int, str]:
            done = codekernel(user_data, repo, *words)
            return done.returncode, done.stdout + done.stderr

        code, said = run("search", "--standalone", "--wait", "close the session")
        assert code == 0
        assert "codekernel models allow far" in said
        code, said = run("models", "allow", "--standalone")
        assert code == 1
        assert f"far would send to 127.0.0.1:{server.port}" in said
        assert "which cost about" in said
        assert "nothing is sent" in said
        assert not [text for text in server.texts if "close_session" in text]
        code, said = run("models", "allow", "far", "--yes", "--standalone")
        assert (code, "far: allowed" in said) == (0, True)
        code, said = run("search", "--standalone", "--wait", "close the session")
        assert (code, "models allow" in said) == (0, False)
        assert [text for text in server.texts if "close_session" in text]
        assert "close the session" in server.texts
        code, said = run("doctor", "--standalone")
        assert f"remote model far: 127.0.0.1:{server.port} answers a query in" in said
    assert "PROBLEM: remote model far" in codekernel(user_data, repo, "doctor").stdout
