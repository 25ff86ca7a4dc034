"""The tools, one per file; each file has one value ``TOOL``. ``agent/toolbox.py`` lists them."""
