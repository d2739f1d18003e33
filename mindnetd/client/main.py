"""``mindnet``: ask a running mindnetd.

Exit codes: 0 done, 1 the answer is "no", 2 wrong use, 3 daemon not reachable, 4 daemon refused, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from mindnetd.client.commands import COMMANDS, COMMON, Command, Opt
from mindnetd.client.locate import UnclearError, find_socket
from mindnetd.client.transport import Client, RefusedError, UnreachableError

NO, WRONG_USE, NOT_REACHABLE, REFUSED, INTERRUPTED = 1, 2, 3, 4, 130
NOTHING_FOUND = (
    "note_not_found",
    "entity_not_found",
    "community_not_found",
    "job_not_found",
    "run_not_found",
    "ambiguous",
)


class WrongUseError(Exception):
    """Arguments that cannot be used; the message says which."""


class Call:
    """One command being run: its arguments, and the daemon."""

    def __init__(self, args: argparse.Namespace, env: Mapping[str, str]) -> None:
        self.args = args
        self.env = env
        self.json: bool = args.json

    @property
    def client(self) -> Client:
        """The daemon's client. Raises UnclearError, UnreachableError."""
        return Client(find_socket(self.args.socket, self.args.vault, self.env))

    @property
    def color(self) -> bool:
        """Write colours?"""
        when = self.args.color or "auto"
        return when == "always" or (when == "auto" and sys.stdout.isatty() and "NO_COLOR" not in self.env)

    @property
    def seen(self) -> dict[str, Any]:
        """The visibility parameters of a GET."""
        return {"visibility": self.args.visibility, "include_flags": self.args.include_flag}

    def out(self, text: str = "") -> None:
        """A line on standard output."""
        sys.stdout.write(text + "\n")

    def raw(self, body: bytes) -> None:
        """The API's body as it is, ending in a newline."""
        sys.stdout.flush()
        sys.stdout.buffer.write(body if body.endswith(b"\n") else body + b"\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        if sys.stdout is None:  # started with `>&-`
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter must not end us
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `mindnet notes | head`: nobody reads on; the interpreter must not flush into it again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is not None:  # not our output, which has no name
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _complain(f"the output cannot be written: {error.strerror or error}", WRONG_USE)
    except (WrongUseError, UnclearError) as error:
        return _complain(str(error), WRONG_USE)
    except UnreachableError as error:
        return _complain(str(error), NOT_REACHABLE)
    except RefusedError as error:
        return _refused(error, as_json="--json" in (sys.argv[1:] if argv is None else argv))


class _Parser(argparse.ArgumentParser):
    """Errors are one line, as everywhere; exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read more."""
        self.exit(WRONG_USE, f"mindnet: {message} (see `{self.prog} --help`)\n")


def _run(argv: Sequence[str]) -> int:
    args = parser(argv).parse_args(argv)
    command: Command = args.command
    run = getattr(import_module(f"mindnetd.client.{command.module}"), f"run_{command.name}")
    code: int = run(Call(args, os.environ))
    return code


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"mindnet: {message}\n")
    return code


def _refused(error: RefusedError, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(error.body.decode("utf-8", "replace").rstrip("\n") + "\n")
    if error.code in NOTHING_FOUND:
        code = _complain(error.message, NO)
    else:
        code = _complain(f"{error.message} (the daemon refused: {error.status} {error.code})", REFUSED)
    for candidate in error.detail.get("candidates", ()):
        sys.stderr.write(f"  {candidate['path']}  ({candidate['title']})  {candidate['id']}\n")
    return code


def parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The argument parser. Only commands that are named in ``argv`` get their arguments: building all costs more than
    most answers."""
    top = _Parser(prog="mindnet", description="Ask your notes: the client of mindnetd.")
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    _add_options(top, COMMON, default_none=True)
    subs = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        sub = subs.add_parser(command.name, help=command.help, description=command.help)
        sub.set_defaults(command=command)
        if command.name in argv:
            _fill(sub, command)
    return top


def _fill(sub: argparse.ArgumentParser, command: Command) -> None:
    for arg in command.args:
        nargs = "+" if arg.many else "?" if arg.optional else None
        sub.add_argument(arg.name, nargs=nargs, help=arg.help, choices=arg.choices or None)
    _add_options(sub, command.opts, default_none=True)
    _add_options(sub, COMMON, default_none=False)


def _add_options(target: argparse.ArgumentParser, options: Sequence[Opt], *, default_none: bool) -> None:
    """Common options after the command must not undo those before it, so there they have no default."""
    for opt in options:
        default: Any = None if default_none else argparse.SUPPRESS
        if opt.metavar is None:
            off: Any = False if default_none else argparse.SUPPRESS
            target.add_argument(*opt.flags, action="store_true", default=off, help=opt.help)
        else:
            target.add_argument(
                *opt.flags,
                metavar=opt.metavar,
                default=default,
                help=opt.help,
                action="append" if opt.many else "store",
                type=int if opt.integer else str,
                choices=opt.choices or None if not opt.many else None,  # lists may come with commas; the daemon judges
            )


class _Version(argparse.Action):
    def __call__(self, owner: argparse.ArgumentParser, *_: Any) -> None:
        """Print the version."""
        sys.stdout.write(f"mindnet {import_module('mindnetd').__version__}\n")
        owner.exit()


if __name__ == "__main__":
    sys.exit(main())
