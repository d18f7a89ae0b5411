# SPDX-License-Identifier: MIT
"""Command lines of tools: `--help` as all of Gangway's, and one line for what is wrong."""
import argparse
from pathlib import Path

from gangway.errors import Failed


class Parser(argparse.ArgumentParser):
    """@param name  of the command; examples: printed below its options"""

    def __init__(self, name: str, what: str, examples: str):
        super().__init__(f"gangway {name}", description=what, epilog=examples, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        raise Failed(f"{message}: see '{self.prog} --help'")

    def add_job(self, has_workers: bool = True):
        self.add_argument("job", metavar="JOB.yaml", help="job file")
        self.add_argument("keys", metavar="key=value", nargs="*", help="keys of the job, as training.batch=64")
        if has_workers:
            self.add_argument("-n", "--workers", type=whole_number(1), metavar="N", help="workers; default: as many as gangway run takes")


def whole_number(least: int, most: int = 10**9):
    def parsed(text):
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not in the range {least} to {most}")
        return number
    return parsed


def require_plot(file: Path | None) -> None:
    """Raises Failed where a plot cannot be written, before anything is trained for it."""
    if file and file.is_dir():
        raise Failed(f"-o {file}: that is a folder; name a file in it")
    if file and not file.parent.is_dir():
        raise Failed(f"-o {file}: there is no folder {file.parent}; make it first")
    if file:
        import matplotlib  # noqa: F401  (what lacks is said)


def table(titles: list[str], rows: list[list[str]], left: int = 0) -> str:
    """Columns two spaces apart, a rule below the titles. Cells stand to the right, but for those of the first `left` columns."""
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    lines = [titles, ["-" * width for width in widths], *rows]
    return "".join("  ".join(cell.ljust(width) if column < left else cell.rjust(width)
                             for column, (cell, width) in enumerate(zip(line, widths))).rstrip() + "\n" for line in lines)
