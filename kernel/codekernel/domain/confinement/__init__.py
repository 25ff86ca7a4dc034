"""Paths below a root folder.

Resolved on open folder handles so that no symbolic link or swapped folder leads outside.

Modules, in the order data meets them:

    confined_path.py           resolves a path below a root
    folder_handle.py           an open folder, with openat
    folder_handle_windows.py   the same for Windows
"""
