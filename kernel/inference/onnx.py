"""onnxruntime, imported here alone: ``kernel/__init__.py`` has switched its telemetry off before.

The variable is enough on Linux and macOS; on Windows events go to the system's own tracing (ETW),
which only the call after the import switches off.
"""

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as native

__all__ = ["native", "onnxruntime"]

onnxruntime.disable_telemetry_events()
