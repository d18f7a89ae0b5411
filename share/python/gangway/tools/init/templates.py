# SPDX-License-Identifier: MIT
"""Fills the templates of `gangway init`. Reads only the template's file."""
import re
from pathlib import Path

SLOT = re.compile("@([A-Z_]+)@")


def filled(template: str, **values: str) -> str:
    """Fills each @NAME@ of templates/TEMPLATE.in. Drops lines whose value is empty. Indents a value of several lines like its slot."""
    lines = []
    for line in (Path(__file__).parent / f"templates/{template}.in").read_text("utf-8").split("\n"):
        slots = list(SLOT.finditer(line))
        if len(slots) == 1 and line.strip(" ") == slots[0][0]:
            value = values[slots[0][1]].lstrip("\n").removesuffix("\n")
            lines += [one and " " * slots[0].start() + one for one in value.split("\n")] if value else []
        elif all(values[slot[1]] for slot in slots):
            lines.append(SLOT.sub(lambda slot: values[slot[1]], line))
    return "\n".join(lines)
