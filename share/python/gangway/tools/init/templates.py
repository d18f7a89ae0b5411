# SPDX-License-Identifier: MIT
"""Fills the templates of `gangway init`. Reads only the template's file."""
import re
from pathlib import Path

SLOT = re.compile("@([A-Z_]+)@")


def filled(template: str, **values: str) -> str:
    """Replaces each @NAME@ by its value. Drops a line whose value is empty. Indents values of
    several lines like their slot, if it is alone. @param template  of templates/, without .in"""
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
