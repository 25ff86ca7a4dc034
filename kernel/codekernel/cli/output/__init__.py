"""What the commands print.

Modules, in the order data meets them:

    terminal.py           streams, escaping, colors, links, width, wrapping
    syntax_colors.py      colors of source code by its syntax
    snippets.py           the lines of a result that are shown
    search_results.py     search results as snippets, paths or JSON
    markdown.py           streamed Markdown with colors
    answer.py             the events of a conversation turn
    evaluation_report.py  the report of ``eval``
"""
