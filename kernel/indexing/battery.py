"""Whether the machine runs on its battery."""


def on_battery() -> bool:
    """True only where there is a battery and no mains power."""
    import psutil  # noqa: PLC0415 - seldom needed

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return battery is not None and battery.power_plugged is False
