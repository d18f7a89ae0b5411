# SPDX-License-Identifier: MIT
"""The texts of `gangway init`, filled. Pure but for the template's file."""
import re
from pathlib import Path

SLOT = re.compile("@([A-Z_]+)@")


def filled(template: str, **values: str) -> str:
    """Puts each value in the place of @NAME@. A line whose value is empty goes; a value of several lines that stands alone on its line
    keeps that line's indentation. @param template  of templates/, without .in"""
    lines = []
    for line in (Path(__file__).parent / f"templates/{template}.in").read_text("utf-8").split("\n"):
        slots = list(SLOT.finditer(line))
        if len(slots) == 1 and line.strip(" ") == slots[0][0]:
            lines += _indented(values[slots[0][1]], slots[0].start())
        elif all(values[slot[1]] for slot in slots):
            lines.append(SLOT.sub(lambda slot: values[slot[1]], line))
    return "\n".join(lines)


def _indented(value: str, spaces: int) -> list[str]:
    lines = value.lstrip("\n").removesuffix("\n").split("\n") if value else []
    return [line and " " * spaces + line for line in lines]
