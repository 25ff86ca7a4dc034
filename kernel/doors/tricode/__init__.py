"""Document 001: an agent's work as lines of JSON on stdout, as Tricode writes them.

``messages.py`` has the lines, ``telling.py`` tells an agent's events in them, ``whitelist.py`` says
which tools an agent gets.
"""
