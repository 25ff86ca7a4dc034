"""A QR code for a terminal, of half blocks: light modules are drawn, for dark terminals."""

import segno

# Around the code; scanners need it.
QUIET_ZONE = 2

_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def render_qr_code(text: str) -> list[str]:
    """Return the lines of a QR code; two rows of modules are one line."""
    code = segno.make_qr(text, error="m")
    rows = [[not dark for dark in row] for row in code.matrix_iter(border=QUIET_ZONE)]
    if len(rows) % 2:
        rows.append([True] * len(rows[0]))
    return [
        "".join(_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]
