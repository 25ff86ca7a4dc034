"""codekernel: finds and explains the code on your own machine."""

__version__ = "0.1.0"
