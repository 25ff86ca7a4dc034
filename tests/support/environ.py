"""The environment of the process that runs the tests."""

from collections.abc import MutableMapping

Environ = MutableMapping[str, str]
