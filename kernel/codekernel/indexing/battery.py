"""Whether the machine runs on its battery."""

import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "linux":
    import psutil

# Where Linux lists batteries and chargers.
POWER_SUPPLIES = Path("/sys/class/power_supply")

# The types of chargers.
_MAINS = ("Mains", "USB", "Wireless")


def is_on_battery(supplies: Path = POWER_SUPPLIES) -> bool:
    """Return true only if a battery is discharging and there is no mains power."""
    return _is_discharging(supplies) if supplies.is_dir() else _is_unplugged()


def _is_unplugged() -> bool:
    """Return what systems other than Linux say of the whole machine."""
    if sys.platform != "linux" and hasattr(psutil, "sensors_battery"):
        with suppress(OSError, RuntimeError):  # unknown, so indexing continues
            battery = psutil.sensors_battery()
            return battery is not None and battery.power_plugged is False
    return False


def _is_discharging(supplies: Path) -> bool:
    """Read sysfs, because psutil takes the battery of a mouse for that of the machine."""
    is_discharging = False
    for supply in supplies.iterdir():
        scope, kind, online, status = (
            _read_attribute(supply / name) for name in ("scope", "type", "online", "status")
        )
        if scope == "Device":  # the battery of a mouse
            continue
        if kind.startswith(_MAINS) and online not in {"", "0"}:
            return False
        is_discharging |= kind == "Battery" and status == "Discharging"
    return is_discharging


def _read_attribute(file: Path) -> str:
    """Return the content of a file in sysfs; empty if it or its device is gone."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
