"""Child process of bounded_regex.py.

Runs one regular expression and is killed from outside if it takes too long.
"""

import pickle
import re
import sys

from codekernel.domain.child_process import open_reply_stream


def main() -> None:
    """Read expression, flags, text and the limit of matches; write the spans of the matches."""
    expression, flags, text, most = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    places = []
    for match in re.finditer(expression, text, flags):
        places.append(match.span())
        if len(places) >= most:
            break
    with open_reply_stream() as replies:
        pickle.dump(places, replies)


if __name__ == "__main__":
    main()
