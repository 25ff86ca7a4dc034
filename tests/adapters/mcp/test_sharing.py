"""One index for a running kernel and for an agent: one writes, the other reads, and may inherit."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.conversation_window import ENVIRON
from support.kernel_process import KernelProcess

Agent = Callable[..., None]
SESSION = 7


@pytest.mark.slow
def test_an_agent_reads_what_a_kernel_keeps_and_keeps_it_after_that(
    agent: Agent, user_data: Path, project: Path
) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(project, SESSION)
        kernel.wait_for(
            lambda line: (
                line["message"]["type"] == "embeddingStatus"
                and line["message"].get("status") == "done"
            ),
            "an indexed file",
        )

        async def talk(client: Client) -> None:
            result = await client.call_tool("search", {"query": "add_route"})
            text = result.content[0].text
            assert "routing.py" in text
            assert "Another codekernel keeps this index" in text
            status = (await client.call_tool("index_status", {})).structured_content
            assert status["state"] == "read-only"
            chain = await client.call_tool("call_chain", {"method": "add_route"})
            assert "main.py:4-5" in chain.content[0].text
            await anyio.to_thread.run_sync(kernel.stop)
            while status["state"] == "read-only":  # it looks every second
                status = (await client.call_tool("index_status", {})).structured_content
            done = await client.call_tool("index_status", {"wait": True})
            assert done.structured_content["state"] == "idle"
            (project / "new.py").write_text("def brand_new_thing():\n    pass\n", encoding="utf-8")
            text = ""
            while "new.py" not in text:  # the files are followed here now
                found = await client.call_tool("search", {"query": "brand_new_thing"})
                text = found.content[0].text

        agent(talk)
    assert [path.name for path in (user_data / "index").iterdir()] == ["1"]
