"""One declaration per message, by family; each family mirrors a file in ``handlers/``."""
