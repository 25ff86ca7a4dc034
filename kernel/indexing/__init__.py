"""From the files of a repository to an index that follows them."""
