"""Ways into the kernel besides its own channel; each speaks to it in lines, as a front end does."""
