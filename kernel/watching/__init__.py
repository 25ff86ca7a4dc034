"""Learning that files of a repository have changed."""
