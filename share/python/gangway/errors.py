# SPDX-License-Identifier: MIT
"""What cannot be done, in one line."""


class Failed(Exception):
    """One line that names the place and the remedy, and the exit code that it has (docs/run-directory.md): 2 what was asked
    for is not there or not possible, 5 a checkpoint cannot be used, and so on."""

    def __init__(self, line: str, code: int = 2):
        super().__init__(line)
        self.line = line
        self.code = code


def complaints(said: list[str]) -> list[str]:
    """The error lines of a gangway command, without its name."""
    return [line.removeprefix("gangway: ") for line in said if line.startswith("gangway: ")]
