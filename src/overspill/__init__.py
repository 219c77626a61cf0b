"""Tool output that always fits, and nothing is ever lost."""
