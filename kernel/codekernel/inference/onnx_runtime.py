"""Import onnxruntime with telemetry disabled; every other module imports it from here.

The environment variable set in the package's __init__ is enough on Linux and macOS, Windows
(ETW) needs the call.
"""

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as native

__all__ = ["native", "onnxruntime"]

onnxruntime.disable_telemetry_events()
