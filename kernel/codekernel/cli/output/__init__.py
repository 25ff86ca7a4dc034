"""What commands print: terminal capabilities and escaping, Markdown, search results, answers.

Modules, in the order data meets them:

    terminal.py
    syntax_colors.py
    snippets.py
    search_results.py
    markdown.py
    answer.py
"""
