"""What onnxruntime may raise; its errors have no common ancestor below Exception."""

from functools import cache


@cache
def runtime_errors() -> tuple[type[Exception], ...]:
    """Every kind of error that loading or running a model ends in."""
    from kernel.inference.onnx import native  # noqa: PLC0415 - slow

    kinds = [
        kind
        for kind in vars(native).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    return (RuntimeError, ValueError, OSError, *kinds)
