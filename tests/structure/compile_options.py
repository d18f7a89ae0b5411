# SPDX-License-Identifier: MIT
"""Reads how the build compiles each source file; keeps the options that Clang's tools know."""
import json
import re
import shlex
from pathlib import Path

KEPT = ("-I", "-isystem", "-idirafter", "-D")


def options_of(command):
    words, kept = shlex.split(command), []
    for word, following in zip(words, [*words[1:], ""]):
        if word in KEPT:
            kept.append(word + following)
        elif word.startswith(KEPT):
            kept.append(word)
    return ["-std=c++20", *kept]


def compilations(build):
    """Yields (file, its sources, Clang's options) of each compilation: one source, or several."""
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        file = entry["file"]
        together = re.findall(r'#include "(/.*\.cpp)"', Path(file).read_text()) if "/Unity/" in file else []
        yield file, together or [file], options_of(entry["command"])


def options_by_source(build):
    found = {}
    for _, sources, options in compilations(build):
        for source in sources:
            found.setdefault(source, options)
    return found
