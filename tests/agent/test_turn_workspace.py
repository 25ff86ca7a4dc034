from pathlib import Path

import pytest
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.turn_workspace import AgentWorkspace
from codekernel.errors import WrongParam


def test_a_folder_that_was_swapped_for_a_link_is_refused_if_that_leads_out(tmp_path: Path) -> None:
    allowed, outside, store = tmp_path / "allowed", tmp_path / "outside", tmp_path / "userData"
    folder = allowed / "project" / "inner"
    for each in (folder, outside / "inner"):
        each.mkdir(parents=True)
    bound = AgentWorkspace(store, folder, AgentSessionStore(store), str(allowed))
    assert bound.root.folder == folder.resolve()
    (allowed / "project").rename(allowed / "aside")
    (allowed / "project").symlink_to(outside)
    free = AgentWorkspace(store, folder, AgentSessionStore(store))
    assert free.root.folder == (outside / "inner").resolve()
    with pytest.raises(WrongParam, match="outside"):
        AgentWorkspace(store, folder, AgentSessionStore(store), str(allowed))
