"""One line for each target: what was measured, what was asked for, and whether it is met."""


def verdict(what: str, value: float, target: float, unit: str = "") -> bool:
    """Print the line; true if ``value`` is at most ``target``."""
    met = value <= target
    outcome = "met" if met else f"MISSED by {value - target:.3g}{unit}"
    print(f"- {what}: {value:.4g}{unit} (target <= {target:.4g}{unit}: {outcome})", flush=True)
    return met


def verdict_at_least(what: str, value: float, target: float, unit: str = "") -> bool:
    """Print the line; true if ``value`` is at least ``target``."""
    met = value >= target
    outcome = "met" if met else f"MISSED by {target - value:.3g}{unit}"
    print(f"- {what}: {value:.6g}{unit} (target >= {target:.6g}{unit}: {outcome})", flush=True)
    return met
