"""Open repositories: a session per window, one workspace per repository, crashes contained."""
