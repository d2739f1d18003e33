"""The small client; the standard library only."""
