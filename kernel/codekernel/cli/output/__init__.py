"""What the commands print.

Modules, in the order data meets them:

    terminal.py           streams, escaping, colors, links, width, wrapping
    syntax_colors.py      colors of source code by its syntax
    progress_bar.py       the progress of indexing
    search_results.py     search results as snippets, paths or JSON
    pager.py              what does not fit on the screen, in $PAGER
    markdown.py           streamed Markdown with colors
"""
