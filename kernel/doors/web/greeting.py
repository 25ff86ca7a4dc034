"""The two small pages of the door itself: come in, and sorry."""

from html import escape

_PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>codekernel</title>{head}
  </head>
  <body>
    {body}
  </body>
</html>
"""


def come_in(address: str) -> bytes:
    """Goes on to a page by itself.

    Not a redirect: the browser would follow it in the name of whatever page had the link, and keep
    back the cookie that it was just given.
    """
    target = escape(address)
    return _PAGE.format(
        head=f'\n    <meta http-equiv="refresh" content="0;url={target}" />',
        body=f'<p><a href="{target}">Open codekernel</a></p>',
    ).encode()


def sorry(sentence: str, *, retry: bool = False) -> bytes:
    """Says why there is nothing to see; ``retry`` where a click may be all it takes."""
    more = ' <a href="/">Try again</a>' if retry else ""
    return _PAGE.format(head="", body=f"<p>{escape(sentence)}{more}</p>").encode()
