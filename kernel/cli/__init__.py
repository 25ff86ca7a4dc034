"""The command ``codekernel``: what a person types, and what the front end spawns."""
