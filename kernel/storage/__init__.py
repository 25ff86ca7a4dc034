"""Owns what lies under userData: atomic files, the encrypted vault, and what is kept in it."""
