"""A real git repository with commits that a test knows."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class GitHistory:
    """Makes commits in ``folder``; needs nothing of the user's configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._moment = 1_700_000_000
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch", "main")

    def commit(
        self, message: str, files: Mapping[str, str | None], author: str = "Ada <ada@example.com>"
    ) -> None:
        """Write files, or delete those that are None, and commit them."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        self._moment += 60
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--author", author, "--message", message)

    def git(self, *words: str) -> str:
        """Run git; its output."""
        moment = f"{self._moment} +0000"
        environ = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Ada"),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ada@example.com"),
        }
        command = ["git", "-C", str(self.folder), *words]
        done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
        return done.stdout
