"""Embedding models: fetch, verify, build, run."""
