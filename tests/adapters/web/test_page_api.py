"""The declaration of what a page may call."""

import re
from pathlib import Path

from codekernel.adapters.web.page_api import CALL_TARGETS, PAGE_CALLS, CallTarget
from codekernel.handlers.context import main_router, session_router

BRIDGE = Path(__file__).parents[3] / "electron-bridge"


def test_no_page_gets_a_key_back_or_stops_the_kernel() -> None:
    forbidden = {"getApiKey", "stopAll", "stopConversation", "beginConversation", "beginAgentTurn"}
    assert not forbidden & set(CALL_TARGETS)
    assert len(CALL_TARGETS) == len(PAGE_CALLS)


def test_forwarded_calls_are_messages_of_the_kernel() -> None:
    for name, target in CALL_TARGETS.items():
        if target is CallTarget.KERNEL:
            assert name in main_router.routes
        elif target is CallTarget.SESSION:
            assert name in session_router.routes


def test_what_a_page_may_call_and_listen_to_is_typed() -> None:
    types = (BRIDGE / "window-kernel.d.ts").read_text(encoding="utf-8")
    for name, target in CALL_TARGETS.items():
        if target is CallTarget.BRIDGE:
            assert re.search(rf"^  {name}\(", types, re.MULTILINE), name
