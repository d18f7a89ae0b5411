# SPDX-License-Identifier: MIT
"""Defines the exception of a failed action: one line and an exit code."""
UNUSABLE, ENVIRONMENT = 5, 6  # exit codes (docs/run-directory.md): a file cannot be used; the machine lacks something


class Failed(Exception):
    """Carries one line, which names the place and the remedy, and an exit code (docs/run-directory.md): 2: the request is not possible."""

    def __init__(self, line: str, code: int = 2):
        super().__init__(line)
        self.line = line
        self.code = code


def complaints(said: list[str]) -> list[str]:
    """Returns the error lines of a gangway command, without its name."""
    return [line.removeprefix("gangway: ") for line in said if line.startswith("gangway: ")]
