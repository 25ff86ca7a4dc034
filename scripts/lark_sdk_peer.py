"""The other side of check_lark_sdk.py: Lark's official SDK, in an environment of its own.

Reads commands from stdin and writes what happens to stdout, each a line of JSON.
"""

import base64
import json
import sys
import threading
from typing import Any

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateMessageRequest,
    CreateMessageRequestBody,
    PatchMessageRequest,
    PatchMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse
from lark_oapi.ws.pb.pbbp2_pb2 import Frame


def tell(**fields: Any) -> None:
    """Write a line."""
    print(json.dumps(fields), flush=True)


def on_message(data: Any) -> None:
    """Tell of a message that a user wrote."""
    message = data.event.message
    text = json.loads(message.content)["text"]
    tell(event="message", text=text, chat=message.chat_id, user=data.event.sender.sender_id.open_id)


def on_click(data: Any) -> Any:
    """Tell of a button that a user pressed, and answer with a toast."""
    tell(event="click", value=data.event.action.value, user=data.event.operator.open_id)
    return P2CardActionTriggerResponse({"toast": {"type": "success", "content": "seen"}})


def run_command(client: Any, command: dict[str, Any]) -> None:
    """Send or update a message, or read a frame and write it again."""
    if command["do"] == "send":
        body = (
            CreateMessageRequestBody.builder()
            .receive_id(command["chat"])
            .msg_type("interactive")
            .content(command["content"])
            .uuid(command["uuid"])
            .build()
        )
        request = (
            CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body).build()
        )
        reply = client.im.v1.message.create(request)
        tell(code=reply.code, id=reply.data.message_id if reply.success() else "")
    elif command["do"] == "update":
        content = PatchMessageRequestBody.builder().content(command["content"]).build()
        request = (
            PatchMessageRequest.builder().message_id(command["id"]).request_body(content).build()
        )
        tell(code=client.im.v1.message.patch(request).code)
    else:
        frame = Frame()
        frame.ParseFromString(base64.b64decode(command["frame"]))
        headers = [[each.key, each.value] for each in frame.headers]
        written = base64.b64encode(frame.SerializeToString()).decode()
        payload = base64.b64encode(frame.payload).decode()
        numbers = [frame.SeqID, frame.LogID, frame.service, frame.method]
        tell(numbers=numbers, headers=headers, payload=payload, written=written)


def main() -> None:
    """Serve until the other side ends."""
    domain, app_id, app_secret = sys.argv[1:]
    builder = lark.Client.builder().app_id(app_id).app_secret(app_secret).domain(domain)
    client = builder.build()

    def run_commands() -> None:
        for line in sys.stdin:
            run_command(client, json.loads(line))

    threading.Thread(target=run_commands, daemon=True).start()
    handler = (
        lark.EventDispatcherHandler.builder("", "")
        .register_p2_im_message_receive_v1(on_message)
        .register_p2_card_action_trigger(on_click)
        .build()
    )
    lark.ws.Client(app_id, app_secret, event_handler=handler, domain=domain).start()


if __name__ == "__main__":
    main()
