"""codekernel: finds and explains the code on your own machine."""

import os

__version__ = "0.2.0"

# onnxruntime 1.29 and later looks up a Microsoft host some seconds after its import and keeps a
# device id under the user's cache folder. It reads this when it is imported and never again, so
# that it must stand here, before any of our modules; children inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
