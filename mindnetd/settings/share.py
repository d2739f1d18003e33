"""Files that travel with the program: the configuration template, the systemd unit, the demo vault."""

from __future__ import annotations

from pathlib import Path

from mindnetd.errors import ConfigError


def shared_file(*parts: str) -> Path:
    """The path of a shipped file or folder, such as ``shared_file("deploy", "mindnetd@.service")``.

    In an installed wheel it lies under ``mindnetd/files``, in a checkout beside the package.
    """
    package = Path(__file__).resolve().parent.parent
    for root in (package / "files", package.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise ConfigError(f"{'/'.join(parts)} is missing from this installation; install mindnetd again")
