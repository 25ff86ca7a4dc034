"""Document 000: a back end that wants what the tools of a Kode agent return, as raw JSON.

``messages.py`` has the shapes, ``stream.py`` tells an agent's events in them, ``stdio.py`` answers
single calls line by line, ``read_first.py`` refuses to change a file that nobody has looked at.
Nothing of it goes back to a model.
"""
