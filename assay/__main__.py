"""`assay COMMAND`: finds the command, and passes the other arguments to it."""

import sys
from collections.abc import Sequence

from assay.commands import COMMANDS, GROUPS, check_file

EXIT_USAGE, EXIT_INTERRUPTED = 2, 130
GROUP_WIDTH, WIDTH = 9, 13
"""Widths of a group's and of a command's name in the help, in characters."""


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code of the command; 2 if it is unknown, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if words is None else words)
    if not given:
        sys.stderr.write(help_text())
        return EXIT_USAGE
    name, *rest = given
    if name in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    if name == "--version":
        from evaluator.results.result import EVALUATOR_VERSION

        sys.stdout.write(f"assay {EVALUATOR_VERSION}\n")
        return 0
    if name not in COMMANDS:
        from evaluator.results.advice import assay_command
        from evaluator.results.display.text import plain_line
        from evaluator.results.nearest import unknown

        sys.stderr.write(plain_line(f"assay: {unknown('command', name, COMMANDS)}; `{assay_command()} --help` lists all") + "\n")
        return EXIT_USAGE
    if not {"-h", "--help"}.intersection(rest) and (wrong := _wrong_in_file()):
        sys.stderr.write(f"assay {name}: {wrong}\n")
        return EXIT_USAGE
    try:
        return COMMANDS[name].run(rest)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _wrong_in_file() -> str:
    """The error in the file of options; empty if there is none."""
    from configuration.file import ConfigurationError
    from evaluator.results.display.text import plain_line

    try:
        check_file()
    except ConfigurationError as error:
        return plain_line(str(error))
    return ""


def help_text() -> str:
    """All commands, in lines of at most 80 columns."""
    lines = ["usage: assay COMMAND ... | COMMAND --help | --version    Judges GPU kernels."]
    for title, commands in GROUPS.items():
        rows = [f"{command.name:<{WIDTH}}{command.summary}" for command in commands]
        lines += [f"{title:<{GROUP_WIDTH}}{rows[0]}", *(" " * GROUP_WIDTH + row for row in rows[1:])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
