"""Whether the machine runs on its battery."""

from pathlib import Path

# Where Linux lists batteries, chargers and everything else that gives power.
POWER_SUPPLIES = Path("/sys/class/power_supply")

# A charger is of one of these; a battery is none.
_MAINS = ("Mains", "USB", "Wireless")


def is_on_battery() -> bool:
    """True only where a battery is being emptied and no mains power is there."""
    return _is_discharging(POWER_SUPPLIES) if POWER_SUPPLIES.is_dir() else _is_unplugged()


def _is_unplugged() -> bool:
    """What other systems say of the machine as a whole."""
    import psutil  # noqa: PLC0415 - seldom needed

    if not hasattr(psutil, "sensors_battery"):
        return False
    try:
        battery = psutil.sensors_battery()
    except (OSError, RuntimeError):  # the system does not know, and indexing goes on
        return False
    return battery is not None and battery.power_plugged is False


def _is_discharging(supplies: Path) -> bool:
    """Not left to psutil, which takes the battery of a mouse for that of the machine."""
    of_machine = [
        supply
        for supply in sorted(supplies.iterdir())
        if _read_attribute(supply / "scope") != "Device"
    ]
    if any(
        _read_attribute(supply / "type").startswith(_MAINS)
        and _read_attribute(supply / "online") not in {"", "0"}
        for supply in of_machine
    ):
        return False
    return any(
        _read_attribute(supply / "type") == "Battery"
        and _read_attribute(supply / "status") == "Discharging"
        for supply in of_machine
    )


def _read_attribute(file: Path) -> str:
    """What a file of the kernel says; nothing if there is none or its device has gone."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
