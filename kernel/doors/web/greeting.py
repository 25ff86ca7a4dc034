"""The two small pages of the door itself: come in, and sorry."""

from html import escape

# Keeps the page secret, or asks for a lost cookie again; a browser without a cookie needs it most.
_SCRIPT_PATH = "/web/enter.js"
PUBLIC_PATHS = (_SCRIPT_PATH, "/web/page_secret.js")
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
_SCRIPT = f'\n    <script type="module" src="{_SCRIPT_PATH}"></script>'


def come_in(address: str, page_secret: str | None) -> bytes:
    """Goes on to a page by itself, once its script has kept the secret.

    Not a redirect: the browser would follow it in the name of whatever page had the link, and keep
    back the cookie that it was just given. A refresh waits until the scripts of a page have run.
    """
    target = escape(address)
    refresh = f'\n    <meta http-equiv="refresh" content="0;url={target}" />'
    secret = f'\n    <meta name="codekernel-secret" content="{page_secret}" />{_SCRIPT}'
    return _PAGE.format(
        head=(secret if page_secret else "") + refresh,
        body=f'<p><a href="{target}">Open codekernel</a></p>',
    ).encode()


def sorry(sentence: str, *, retry: bool = False) -> bytes:
    """Says why there is nothing to see; ``retry`` where a click may be all it takes."""
    more = ' <a href="/">Try again</a>' if retry else ""
    head = _SCRIPT if retry else ""
    return _PAGE.format(head=head, body=f"<p>{escape(sentence)}{more}</p>").encode()
