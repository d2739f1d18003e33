"""The command ``mindnetd``: run, index, init, service and so on. Everything heavy is imported where it is used."""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from mindnetd import __version__
from mindnetd.config import Config, find_config, load_config
from mindnetd.errors import BadRequest, ConfigError, MindnetError

INTERRUPTED = 130
HASH_FLAGS = ("compare", "source", "normalize")


class _Parser(argparse.ArgumentParser):
    """Errors are one line, as everywhere; exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read more."""
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (0 done, 1 no, 2 wrong use, 4 refused, 130 interrupted)."""
    parser = build_parser()
    args = parser.parse_args(argv)
    # before numpy is imported: two threads that wait for each other make a query's one product of a matrix and a vector
    # 20 ms slower on a busy machine (measured: 20 against 0.2 ms), and save nothing at the size of a vault
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if sys.stdout is None:  # started with `>&-`
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        code = int(args.command(args, os.environ))
        sys.stdout.flush()
        return code
    except MindnetError as error:
        sys.stderr.write(f"mindnetd: {error.message}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is not None:  # not our output, which has no name
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stderr.write(f"mindnetd: the output cannot be written: {error.strerror or error}\n")
        return 2


# --- the parser -------------------------------------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = _Parser(prog="mindnetd", description="Indexes an Obsidian vault and answers questions on a Unix socket.")
    parser.add_argument("--version", action="version", version=f"mindnetd {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands)
    _add_index(commands)
    _add_init(commands)
    _add_service(commands)
    _add_model(commands)
    _add_config(commands)
    _add_compare(commands)
    return parser


_Commands = argparse._SubParsersAction  # the type has no public name


def _command(commands: _Commands[_Parser], name: str, what: str, run: Callable[..., int]) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
    parser.set_defaults(command=run)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """The options that choose and change a configuration."""
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: the one of this vault or name)")
    parser.add_argument("--name", help="name of the instance (default: the file's name, else made from the folder's)")
    parser.add_argument("--db", metavar="FILE", help="database file")
    parser.add_argument("--socket", metavar="PATH", help="Unix socket")
    for flag in HASH_FLAGS:
        parser.add_argument(f"--hash-{flag}", metavar="HOW", help=f"the same as --set hash.{flag}=HOW")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any key of the configuration")
    parser.add_argument("--offline", action="store_true", help="never fetch a model")


def _add_logging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log-format", choices=("json", "text"), help="default: text on a terminal, else JSON")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="default: info")


def _add_run(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "run", "run the daemon in the foreground", _run)
    parser.add_argument("--vault", metavar="DIR", help="the folder of your notes")
    _add_settings(parser)
    _add_logging(parser)
    parser.add_argument(
        "--progress", choices=("auto", "on", "off"), default="auto", help="show the first index (auto: on a terminal)"
    )


def _add_index(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "index", "make one full index, show the figures, and end", _index)
    parser.add_argument("vault", metavar="DIR", help="the folder of your notes")
    parser.add_argument("--extraction-mode", choices=("heuristic", "hybrid", "llm"), default=None)
    _add_settings(parser)
    _add_logging(parser)


def _add_init(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "init", "write a commented configuration for a vault; never overwrites", _init)
    parser.add_argument("vault", metavar="DIR", nargs="?", default=".", help="the folder of your notes (default: here)")
    parser.add_argument("--name", help="name of the instance (default: made from the folder's name)")


def _add_service(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "service", "the systemd user unit of a vault", _service)
    parser.add_argument("action", choices=("install", "uninstall", "status"))
    parser.add_argument("--name", help="name of the instance (default: the only configured one)")
    parser.add_argument(
        "--vault", metavar="DIR", help="install: write a configuration for this folder first if missing"
    )


def _add_model(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "model", "fetch, show or check the weights", _model)
    parser.add_argument("action", choices=("pull", "list", "verify", "use"))
    parser.add_argument("model", metavar="NAME", nargs="?", help="default: all-MiniLM-L6-v2; use: also a back end")
    parser.add_argument("--from", dest="source", metavar="DIR", help="pull: a folder that holds the weights")
    parser.add_argument("--config", metavar="FILE", help="use: the configuration to write to")
    parser.add_argument("--name", help="use: the instance (default: the only configured one)")


def _add_config(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "config", "show the effective values with their origin, or check a file", _config)
    parser.add_argument("action", choices=("show", "check"))
    parser.add_argument("--vault", metavar="DIR", help="the folder of your notes")
    _add_settings(parser)


def _add_compare(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "compare", "compare two vault folders, note by note; exit 1 on a difference", _compare)
    parser.add_argument(
        "a", metavar="A", help="a folder of notes; its configuration (else that of B, else defaults) holds for both"
    )
    parser.add_argument("b", metavar="B", help="the other one")
    parser.add_argument("--files", action="store_true", help="canvases and attachments too, byte by byte")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")


# --- the commands -----------------------------------------------------------------------------------------------------


def _flags(args: argparse.Namespace) -> dict[str, str]:
    """What the command line says, as dotted keys."""
    flags: dict[str, str] = {}
    for assignment in args.set:
        key, found, value = assignment.partition("=")
        if not found:
            raise ConfigError(f"--set {assignment}: expects KEY=VALUE, such as watch.settle_ms=500")
        flags[key] = value
    given = {key: getattr(args, key, None) for key in ("vault", "db", "socket")}
    given |= {f"hash.{flag}": getattr(args, f"hash_{flag}") for flag in HASH_FLAGS}
    given["graph.extraction_mode"] = getattr(args, "extraction_mode", None)
    return flags | {key: value for key, value in given.items() if value is not None}


def read_config(args: argparse.Namespace, env: Mapping[str, str]) -> Config:
    """The configuration that a command line means; may be called again for a reload."""
    file = find_config(env, file=args.config, name=args.name, vault=getattr(args, "vault", None))
    config = load_config(file, env, _flags(args), name=args.name)
    return dataclasses.replace(config, offline=args.offline)


def _start_logging(args: argparse.Namespace, env: Mapping[str, str], *, watched: bool) -> None:
    """Text and only warnings where a person watches a progress display, unless the command line says otherwise."""
    from mindnetd.telemetry import setup_logging

    level = args.log_level or ("warning" if watched else "info")
    setup_logging(args.log_format or ("text" if watched else None), env, level=level)


def _run(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    # until the daemon's loop takes them over: told to stop is a clean end, and a reload finds nothing to reload yet
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    config = read_config(args, env)
    watched = args.progress == "on" or (args.progress == "auto" and sys.stdout.isatty())
    _start_logging(args, env, watched=watched)
    from mindnetd import daemon

    if watched:
        from mindnetd import terminal

        terminal.watch_daemon(config)
    return daemon.run(config, lambda: read_config(args, env))


def _index(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    config = read_config(args, env)
    if not config.vault.is_dir():
        raise BadRequest(f"{config.vault}: no such folder; give the folder of your notes")
    _start_logging(args, env, watched=True)
    from mindnetd import daemon, terminal

    with terminal.IndexDisplay() as display:
        summary = daemon.index_once(config, display.progress)
    display.summary(summary, str(config.db))
    return 0


def _init(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    from mindnetd.settings.init import write_config

    written = write_config(Path(args.vault), env, args.name)
    _say(f"wrote {written.file}")
    if written.types is not None:
        _say(f"wrote {written.types}: note types and what they mean")
    if written.excluded:
        _say(f"Obsidian's excluded files are honoured: {', '.join(written.excluded)}")
    _say(f"next: mindnetd run --name {written.name}, or mindnetd service install --name {written.name}")
    return 0


def _service(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    from mindnetd import service

    if args.action == "install":
        return service.install(env, _say, name=args.name, vault=args.vault)
    if args.action == "uninstall":
        return service.uninstall(env, _say, name=args.name)
    return service.status(env, _say, name=args.name)


def _model(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    from mindnetd.cli_model import run_model, use_model

    if args.action == "use":
        if args.model is None:
            raise BadRequest("model use: give a model or one of auto, onnx, openvino, ollama")
        file = find_config(env, file=args.config, name=args.name, vault=None)
        return use_model(load_config(file, env, name=args.name), args.model, _say)
    return run_model(args.action, args.model, args.source, env, _say)


def _config(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    from mindnetd.settings.retrieval import retrieval_of
    from mindnetd.settings.show import show
    from mindnetd.settings.types import types_of

    try:
        config = read_config(args, env)
        if args.action == "check":
            retrieval_of(config)
            types_of(config)
    except ConfigError as error:
        if args.action == "check" and error.detail.get("problems"):
            sys.stderr.write("".join(f"{line}\n" for line in error.detail["problems"]))
            return error.exit_code
        raise
    if args.action == "show":
        sys.stdout.write(show(config))
    else:
        _say(f"{config.file or 'defaults'}: correct; vault {config.vault}, database {config.db}")
        if not config.vault.is_dir():
            _say(f"note: the vault {config.vault} is not there now")
    return 0


def _compare(args: argparse.Namespace, env: Mapping[str, str]) -> int:
    from mindnetd.cli_compare import run_compare

    return run_compare(args.a, args.b, env, _say, others=args.files, as_json=args.json)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
