"""Which files of a repository are indexed, and what stands in them."""
