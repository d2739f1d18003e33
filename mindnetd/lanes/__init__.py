"""The resident index: vectors and words."""
