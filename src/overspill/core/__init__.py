"""Decisions only: bytes in, what is kept out. No I/O, no clock, no environment, no randomness."""
