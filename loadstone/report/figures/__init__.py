"""One file per kind of figure; each function takes the report's content and returns a figure, or None without data."""
