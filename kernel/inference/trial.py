"""Trying an execution provider with the smallest model there is."""

from kernel.inference.runtime_errors import runtime_errors

# An ONNX model, its protobuf written out: one Identity node from "x" to "y", both float32[1].
IDENTITY_MODEL = (
    b"\x08\x08"  # ir_version 8
    b"\x3a\x37"  # graph, 55 bytes
    b"\x0a\x10\x0a\x01x\x12\x01y\x22\x08Identity"  # node: input, output, operator
    b"\x12\x01g"  # its name
    b"\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  # input
    b"\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  # output
    b"\x42\x02\x10\x0d"  # operator set 13
)

_FATAL_ONLY = 4  # onnxruntime's own log level: it writes to stderr what the answer says anyway


def reason_not_running(provider: str) -> str | None:
    """Say why no session runs on ``provider``, or nothing if one does."""
    import numpy as np  # noqa: PLC0415 - slow to import

    from kernel.inference.onnx import onnxruntime  # noqa: PLC0415 - slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = _FATAL_ONLY
    try:
        session = onnxruntime.InferenceSession(
            IDENTITY_MODEL,
            options,
            providers=[provider],
            enable_fallback=0,  # falling back would print to stdout and hide the reason
        )
        used = session.get_providers()[0]
        if used != provider:
            return f"the session fell back to {used}"
        session.run(None, {"x": np.ones(1, dtype=np.float32)})
    except runtime_errors() as error:
        return str(error)
    return None
