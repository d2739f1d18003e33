"""``mindnet completion SHELL``: a completion script made from the table of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mindnetd.client.commands import COMMANDS, COMMON, Command, Opt

if TYPE_CHECKING:
    from mindnetd.client.main import Call


def run_completion(call: Call) -> int:
    """Print the script."""
    call.out({"bash": bash, "zsh": zsh, "fish": fish}[call.args.shell]())
    return 0


def _words(command: Command) -> str:
    choices = [choice for arg in command.args for choice in arg.choices]
    return " ".join([*choices, *(flag for opt in (*command.opts, *COMMON) for flag in opt.flags), "--help"])


def _all_options() -> Iterator[Opt]:
    seen = set()
    for opt in (*COMMON, *(opt for command in COMMANDS for opt in command.opts)):
        if opt.flags not in seen:
            seen.add(opt.flags)
            yield opt


def bash() -> str:
    """For ``source <(mindnet completion bash)``."""
    names = " ".join(command.name for command in COMMANDS)
    # a value of an option is never a file that the command takes, hence command=""
    values = [
        f'    *:{"|*:".join(o.flags)}) words="{" ".join(o.choices)}" command="" ;;' for o in _all_options() if o.choices
    ]
    shown = {o.flags: o.choices for o in _all_options()}
    own = [  # the same option means something else here: it must be looked at first
        f'    {"|".join(f"{c.name}:{flag}" for flag in o.flags)}) words="{" ".join(o.choices)}" command="" ;;'
        for c in COMMANDS
        for o in c.opts
        if o.choices and o.choices != shown[o.flags]
    ]
    files = "|".join(f"*:{flag}" for o in _all_options() if o.files for flag in o.flags)
    free = "|".join(
        f"*:{flag}" for o in _all_options() if o.metavar and not o.choices and not o.files for flag in o.flags
    )
    cases = [f'      {command.name}) words="{_words(command)}" ;;' for command in COMMANDS]
    with_files = "|".join(command.name for command in COMMANDS if any(arg.files for arg in command.args))
    common = " ".join(flag for opt in COMMON for flag in opt.flags)
    return "\n".join(
        [
            "_mindnet() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="" word words=""',
            '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            f'    case " {names} " in *" $word "*) command="$word"; break ;; esac',
            "  done",
            '  case "$command:$prev" in',
            *own,
            *values,
            f'    {files}) COMPREPLY=($(compgen -f -- "$cur")); return ;;',
            f"    {free}) return ;;",
            "    *)",
            '    case "$command" in',
            *cases,
            f'      *) words="{names} {common} --help --version" ;;',
            "    esac ;;",
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            f'  case "$command" in {with_files}) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac',
            "}",
            "complete -F _mindnet mindnet",
        ]
    )


def zsh() -> str:
    """For a file ``_mindnet`` in ``$fpath``, or ``source <(mindnet completion zsh)``."""
    described = [f"    {_quoted(f'{c.name}:{c.help}')}" for c in COMMANDS]
    cases = []
    for command in COMMANDS:
        specs = [spec for opt in (*command.opts, *COMMON) for spec in _zsh_option(opt)]
        specs += [_zsh_arg(number, arg.name, arg.choices, arg.files) for number, arg in enumerate(command.args, 1)]
        cases.append(f"    {command.name}) _arguments {' '.join(specs)} ;;")
    common = " ".join(spec for opt in COMMON for spec in _zsh_option(opt))
    return "\n".join(
        [
            "#compdef mindnet",
            "_mindnet() {",
            "  local -a commands",
            "  local curcontext=$curcontext state line",
            "  commands=(",
            *described,
            "  )",
            f"  _arguments -C {common} '1:command:->command' '*::argument:->argument'",
            "  case $state in",
            "    command) _describe command commands; return ;;",
            "  esac",
            "  case $line[1] in",
            *cases,
            "  esac",
            "}",
            'if [ "$funcstack[1]" = "_mindnet" ]; then _mindnet "$@"; else compdef _mindnet mindnet; fi',
        ]
    )


def _zsh_option(opt: Opt) -> Iterator[str]:
    value = ""
    if opt.metavar is not None:
        action = f"({' '.join(opt.choices)})" if opt.choices else "_files" if opt.files else " "
        value = f":{opt.metavar}:{action}"
    for flag in opt.flags:
        yield _quoted(f"{'*' if opt.many else ''}{flag}[{opt.help}]{value}")


def _zsh_arg(number: int, name: str, choices: tuple[str, ...], files: bool) -> str:
    action = f"({' '.join(choices)})" if choices else "_files" if files else " "
    return _quoted(f"{number}:{name}:{action}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """For ``mindnet completion fish | source``."""
    lines = ["complete -c mindnet -f"]
    for command in COMMANDS:
        lines.append(f"complete -c mindnet -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"complete -c mindnet {here} {_fish_option(opt)}" for opt in command.opts]
        lines += [
            f"complete -c mindnet {here} -a {_quoted(' '.join(arg.choices))}" for arg in command.args if arg.choices
        ]
        lines += [f"complete -c mindnet {here} -F" for arg in command.args if arg.files]
    lines += [f"complete -c mindnet {_fish_option(opt)}" for opt in COMMON]
    return "\n".join(lines)


def _fish_option(opt: Opt) -> str:
    parts = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in opt.flags]
    if opt.choices:
        parts.append(f"-x -a {_quoted(' '.join(opt.choices))}")
    elif opt.metavar is not None:
        parts.append("-r -F" if opt.files else "-x")
    return " ".join([*parts, f"-d {_quoted(opt.help)}"])
