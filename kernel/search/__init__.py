"""From a query to ranked chunks: retrieve, fuse, select, highlight."""
