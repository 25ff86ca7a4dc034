"""From an envelope to the handler that answers it, and from its errors to a status."""
