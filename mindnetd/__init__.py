"""mindnetd: a daemon that makes an Obsidian vault answer questions."""

__version__ = "0.1.0"
