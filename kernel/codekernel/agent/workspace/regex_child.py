"""Child process of bounded_regex.py.

Runs one regular expression and is killed from outside if it takes too long.
"""

import os
import pickle
import re
import sys


def main() -> None:
    """Read expression, flags, text and the most matches; write where the matches are."""
    expression, flags, text, most = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    places = []
    for match in re.finditer(expression, text, flags):
        places.append(match.span())
        if len(places) >= most:
            break
    with os.fdopen(os.dup(1), "wb") as answers:
        pickle.dump(places, answers)


if __name__ == "__main__":
    main()
