"""DuckDB, and nothing else knows it."""
