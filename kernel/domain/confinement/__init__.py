"""Files of a folder that are never left, whatever another process swaps meanwhile."""
