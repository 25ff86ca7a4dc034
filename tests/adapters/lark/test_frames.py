"""The frame of the long connection, compared with protobuf's own reading and writing of it."""

from typing import Any

import pytest
from codekernel.adapters.lark.frames import (
    PARTS_TIMEOUT_SECONDS,
    FrameDamaged,
    FrameParts,
    LarkFrame,
    decode_frame,
    make_ping,
    make_reply,
)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

FIELDS = descriptor_pb2.FieldDescriptorProto


def build_protobuf_frame() -> Any:
    """Return protobuf's class of the message, declared as the platform declares it."""
    file = descriptor_pb2.FileDescriptorProto(name="lark.proto", package="lark", syntax="proto2")
    header = file.message_type.add(name="Header")
    for number, name in enumerate(("key", "value"), 1):
        header.field.add(
            name=name, number=number, label=FIELDS.LABEL_REQUIRED, type=FIELDS.TYPE_STRING
        )
    frame = file.message_type.add(name="Frame")
    required, optional = FIELDS.LABEL_REQUIRED, FIELDS.LABEL_OPTIONAL
    frame.field.add(name="SeqID", number=1, label=required, type=FIELDS.TYPE_UINT64)
    frame.field.add(name="LogID", number=2, label=required, type=FIELDS.TYPE_UINT64)
    frame.field.add(name="service", number=3, label=required, type=FIELDS.TYPE_INT32)
    frame.field.add(name="method", number=4, label=required, type=FIELDS.TYPE_INT32)
    frame.field.add(
        name="headers", number=5, label=FIELDS.LABEL_REPEATED, type=FIELDS.TYPE_MESSAGE,
        type_name=".lark.Header",
    )  # fmt: skip
    for number, name in ((6, "payload_encoding"), (7, "payload_type"), (9, "LogIDNew")):
        frame.field.add(name=name, number=number, label=optional, type=FIELDS.TYPE_STRING)
    frame.field.add(name="payload", number=8, label=optional, type=FIELDS.TYPE_BYTES)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lark.Frame"))


ProtobufFrame = build_protobuf_frame()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FRAMES = st.builds(
    LarkFrame,
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=6).map(tuple),
    TEXTS,
    TEXTS,
    st.binary(max_size=300),
    TEXTS,
)


def part(index: int, count: int, payload: bytes, name: str = "m") -> LarkFrame:
    headers = (("message_id", name), ("sum", str(count)), ("seq", str(index)))
    return LarkFrame(method=1, headers=headers, payload=payload)


@given(FRAMES)
def test_protobuf_reads_what_is_written_and_writes_the_same_bytes(frame: LarkFrame) -> None:
    read = ProtobufFrame.FromString(frame.encode())
    assert read.SeqID == frame.sequence_id
    assert read.service == frame.service
    assert [(each.key, each.value) for each in read.headers] == list(frame.headers)
    assert read.payload == frame.payload
    assert read.SerializeToString() == frame.encode()


@given(FRAMES)
def test_what_protobuf_writes_is_read(frame: LarkFrame) -> None:
    written = ProtobufFrame(
        SeqID=frame.sequence_id, LogID=frame.log_id, service=frame.service, method=frame.method,
        headers=[{"key": key, "value": value} for key, value in frame.headers],
        payload_encoding=frame.payload_encoding, payload_type=frame.payload_type,
        payload=frame.payload, LogIDNew=frame.new_log_id,
    )  # fmt: skip
    assert decode_frame(written.SerializeToString()) == frame


@given(FRAMES, st.integers(0, 400))
def test_a_frame_that_is_cut_off_is_refused_or_shorter_and_never_crashes(
    frame: LarkFrame, size: int
) -> None:
    try:
        read = decode_frame(frame.encode()[:size])
    except FrameDamaged:
        return
    assert len(read.encode()) <= len(frame.encode()) + 8


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except FrameDamaged:
        return
    assert decode_frame(frame.encode()) == frame


def test_a_ping_is_the_control_frame_of_the_service() -> None:
    read = ProtobufFrame.FromString(make_ping(33).encode())
    assert (read.method, read.service) == (0, 33)
    assert [(each.key, each.value) for each in read.headers] == [("type", "ping")]


def test_a_reply_keeps_the_frame_and_adds_how_long_it_took() -> None:
    event = LarkFrame(7, 8, 9, 1, (("type", "event"), ("message_id", "m")), payload=b"{}")
    reply = make_reply(event, b"answer", 12)
    assert reply.headers == (*event.headers, ("biz_rt", "12"))
    assert (reply.sequence_id, reply.service, reply.payload) == (7, 9, b"answer")


def test_parts_are_joined_in_their_order_whatever_the_order_of_arrival() -> None:
    parts = FrameParts()
    assert parts.join(part(2, 3, b"c")) is None
    assert parts.join(part(0, 3, b"a")) is None
    assert parts.join(part(0, 2, b"x", "other")) is None
    assert parts.join(part(1, 3, b"b")) == b"abc"
    assert parts.join(part(0, 1, b"whole")) == b"whole"


def test_an_empty_part_is_a_part() -> None:
    parts = FrameParts()
    assert parts.join(part(0, 2, b"")) is None
    assert parts.join(part(1, 2, b"b")) == b"b"


def test_parts_that_stay_alone_are_forgotten() -> None:
    now = 0.0
    parts = FrameParts(lambda: now)
    parts.join(part(0, 2, b"a"))
    now = PARTS_TIMEOUT_SECONDS + 1
    assert parts.join(part(1, 2, b"b")) is None


@pytest.mark.parametrize(("index", "count"), [(3, 3), (0, 10_000)])
def test_a_part_that_cannot_be_is_refused(index: int, count: int) -> None:
    with pytest.raises(FrameDamaged):
        FrameParts().join(part(index, count, b""))
