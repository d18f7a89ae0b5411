# SPDX-License-Identifier: MIT
"""Parses the tools' command lines: `--help` in Gangway's form, one line for each error."""
import argparse
import math
import os
import re
import shlex
from pathlib import Path

from gangway.errors import ENVIRONMENT, Failed
from gangway.launch import typed_program


class Parser(argparse.ArgumentParser):
    """Parses one command's line. @param name  the command's; examples: printed below the options"""

    def __init__(self, name: str, what: str, examples: str):
        super().__init__(f"gangway {name}", description=what, epilog=examples, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        raise Failed(f"{message}: see '{self.prog} --help'")

    def add_run(self, number: str | None = None):
        """Adds RUN and --outdir. @param number  argparse's nargs; None: exactly one run"""
        self.add_argument("run", metavar="RUN", nargs=number, help="directory or name of a run")
        self.add_argument("--outdir", default="runs", metavar="FOLDER", help="folder of the runs (%(default)s)")

    def add_keys(self, what: str = "keys of the job, as training.batch=64"):
        self.add_argument("keys", metavar="key=value", nargs="*", help=what)

    def add_count(self, *names: str, default: int, what: str, least: int = 1, most: int = 10**9):
        """Adds an option that takes a whole number."""
        self.add_argument(*names, type=whole_number(least, most), default=default, metavar="N", help=f"{what} (%(default)s)")

    def add_job(self, workers: str | None = "workers; default: as many as gangway run takes"):
        """Adds JOB, its keys and -n. @param workers  help text of -n; None: no -n"""
        self.add_argument("job", metavar="JOB.yaml", help="job file")
        self.add_keys()
        if workers:
            self.add_argument("-n", "--workers", type=whole_number(1), metavar="N", help=workers)


def number(least: float, most: float = math.inf, kind=float):
    """Returns a parser of numbers in a range. @param kind  float or int"""
    def parsed(text):
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no {'whole ' * (kind is int)}number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not in the range {least} to {most}")
        return value
    return parsed


def whole_number(least: int, most: int = 10**9):
    return number(least, most, int)


def require_place(file: Path) -> None:
    """Raises Failed if the file that -o names cannot be created."""
    if file.is_dir():
        raise Failed(f"-o {file}: that is a folder; name a file in it")
    if not file.parent.is_dir():
        raise Failed(f"-o {file}: there is no folder {file.parent}; make it first")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise Failed(f"{file.parent}: no file can be written there; name another place with -o", ENVIRONMENT)


def require_new_folder(folder: Path) -> None:
    """Raises Failed if the folder that -o names is there, or has no place."""
    if os.path.lexists(folder):
        raise Failed(f"-o {folder}: is there already; name a new folder")
    if not folder.absolute().parent.is_dir():
        raise Failed(f"-o {folder}: there is no folder {folder.parent}; make it first")


def require_plot(file: Path | None) -> None:
    """Raises Failed if the plot cannot be written. Call it before the training starts."""
    if file:
        require_place(file)
        import matplotlib  # noqa: F401  (raises if it is missing)


def write_whole(file: Path, text: str, errors: str = "replace") -> None:
    """Replaces a file atomically. Raises Failed if it cannot be written."""
    if file.exists() and not file.is_file():
        raise Failed(f"{file}: is no regular file; name a file to be written", ENVIRONMENT)
    beside = file.with_name(file.name + ".tmp")
    try:
        # Writing through a link would overwrite the file that it points to.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        try:
            with open(descriptor, "w", encoding="utf-8", errors=errors) as out:
                out.write(text)
                out.flush()
                os.fsync(descriptor)
            os.replace(beside, file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failed(f"{file}: cannot be written: {error.strerror}; choose another place", ENVIRONMENT) from None


def plain(text: str) -> str:
    """Returns text that is safe for a terminal: "?" replaces control characters but newlines and tabs, and bytes that were not text."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd]", "?", text)


def counted(number: float, what: str) -> str:
    """Returns, for example, "1 worker" or "0.5 minutes"."""
    return f"{number:g} {what}{'' if number == 1 else 's'}"


def typed(*words: str) -> str:
    """Returns a shell command line that begins with the program name that the user typed."""
    return shlex.join([typed_program(), *words])


def say(line: str) -> None:
    """Prints a progress line. Measuring functions take it as their `say`."""
    print(plain(line), flush=True)


def one_of(*words: str):
    def parsed(text):
        if text not in words:
            raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(words)}")
        return text
    return parsed


def listed(kind):
    """Returns a parser of comma-separated values. @param kind  parses one value"""
    return lambda text: [kind(word) for word in text.split(",")]


def table(titles: list[str], rows: list[list[str]], left: int | set[int] = 0) -> str:
    """Returns columns two spaces apart, below titles and a rule, aligned right but for the first `left` columns, or those of the set."""
    to_left = range(left) if isinstance(left, int) else left
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    lines = [titles, ["-" * width for width in widths], *rows]
    return plain("".join("  ".join(cell.ljust(width) if column in to_left else cell.rjust(width)
                                   for column, (cell, width) in enumerate(zip(line, widths))).rstrip() + "\n" for line in lines))
