"""Paths below a root folder.

Resolved on open folder handles so that no symbolic link or swapped folder leads outside.

Modules, in the order data meets them:

    folder_handle.py
    folder_handle_windows.py
    confined_path.py
"""
