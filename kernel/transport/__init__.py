"""Lines of bytes between the kernel and whoever started it; knows no message."""
