#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that a mutex guards is touched without it (base/guarded.hpp): Clang's thread safety analysis of every source file
that uses such a mutex. Production code has no other mutexes, and none that guards nothing.

    thread_safety.py BUILD_DIR

Reads how the files are compiled from BUILD_DIR/compile_commands.json; those that this build leaves out are named and not
checked.
"""
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath

import dependencies

ROOT = Path(__file__).parents[2].resolve()
GUARDED = "base/guarded.hpp"
STANDARD_MUTEX = re.compile(r"\bstd::((recursive_|shared_|timed_)*mutex|scoped_lock|lock_guard|unique_lock)\b")
MUTEX = re.compile(r"^\s*(?:mutable )?Mutex (\w+);", re.MULTILINE)
CLANG = ["clang++", "-fsyntax-only", "-std=c++20", "-Wno-everything", "-Wthread-safety", "-Werror"]
WITH_VALUE = ("-I", "-isystem", "-idirafter", "-D")  # what Clang needs of GCC's options; it does not know all of the others


def production(tree):
    return {name: text for name, text in tree.text.items() if not name.startswith(("tests/", "bench/"))}


def careless(sources):
    """One line for each mutex that the analysis does not see, or that has nothing to see."""
    for name, text in sources.items():
        if name == GUARDED:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if found := STANDARD_MUTEX.search(line.split("//")[0]):
                yield f"{name}:{number}: {found[0]}; take Mutex and MutexLock of {GUARDED}"
        for mutex in MUTEX.findall(text):
            if f"GANGWAY_GUARDED_BY({mutex})" not in text:
                yield f"{name}: {mutex} guards nothing; say what it does by GANGWAY_GUARDED_BY({mutex})"


def to_be_checked(tree, sources):
    """The files with code under such a mutex: they, or a header beside them that they include, include the wrapper."""
    headers = {name for name in sources if GUARDED in tree.project_includes[name]}
    return sorted(name for name in sources if name.endswith(".cpp") and any(
        header == GUARDED or (header in headers and PurePath(header).parent == PurePath(name).parent)
        for header in tree.project_includes[name]))


def options_of(command):
    words, kept = shlex.split(command), []
    for word, following in zip(words, [*words[1:], ""]):
        if word in WITH_VALUE:
            kept += [word, following]
        elif word.startswith(WITH_VALUE):
            kept.append(word)
    return kept


def commands(build):
    """Options by source file; a file of several that are compiled together has theirs."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        together = re.findall(r'#include "(/.*\.cpp)"', file.read_text()) if "/Unity/" in entry["file"] else []
        for source in together or [entry["file"]]:
            found.setdefault(source, options_of(entry["command"]))
    return found


def check(name, options):
    result = subprocess.run([*CLANG, *options, str(ROOT / name)], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr


def main(build):
    tree = dependencies.Tree(ROOT).read()
    sources = production(tree)
    faults = list(careless(sources))
    known = commands(Path(build))
    chosen = to_be_checked(tree, sources)
    checked = [name for name in chosen if str(ROOT / name) in known]
    with ThreadPoolExecutor(2) as pool:
        faults += [fault for fault in pool.map(lambda name: check(name, known[str(ROOT / name)]), checked) if fault]
    print(*faults, f"{len(checked)} files checked, {len(faults)} with faults", sep="\n")
    if left_out := sorted(set(chosen) - set(checked)):
        print("not in this build:", *left_out)
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
