"""One agent framework or server framework per file, imported by its users only."""
