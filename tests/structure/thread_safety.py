#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs Clang's thread safety analysis on every source file with a Mutex of base/guarded.hpp. Checks
that production code has no other mutex, and no mutex that guards nothing.

    thread_safety.py BUILD_DIR

Reads the compile options from BUILD_DIR/compile_commands.json. Names the files that this build
leaves out, and does not check them.
"""
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath

import dependencies
from compile_options import options_by_source

ROOT = Path(__file__).parents[2].resolve()
GUARDED = "base/guarded.hpp"
STANDARD_MUTEX = re.compile(r"\bstd::((recursive_|shared_|timed_)*mutex|scoped_lock|lock_guard|unique_lock)\b")
MUTEX = re.compile(r"^\s*(?:mutable )?Mutex (\w+);", re.MULTILINE)
CLANG = ["clang++", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror"]


def careless(sources):
    """Yields a line for each mutex that the analysis does not see, or that guards nothing."""
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
    """Returns the sources that include the wrapper, themselves or by a header in their folder."""
    headers = {name for name in sources if GUARDED in tree.project_includes[name]}
    return sorted(name for name in sources if name.endswith(".cpp") and any(
        header == GUARDED or (header in headers and PurePath(header).parent == PurePath(name).parent)
        for header in tree.project_includes[name]))


def check(names, known):
    """Returns faults of the files: compiles all at once, and each by itself if that fails."""
    options = list(dict.fromkeys(word for name in names for word in known[str(ROOT / name)]))
    included = [word for name in names for word in ("-include", str(ROOT / name))]
    result = subprocess.run([*CLANG, *options, *included, "-x", "c++", "/dev/null"], capture_output=True, text=True)
    if result.returncode == 0:
        return []
    return [result.stderr] if len(names) == 1 else [fault for name in names for fault in check([name], known)]


def main(build):
    tree = dependencies.Tree(ROOT).read()
    sources = {name: text for name, text in tree.text.items() if not name.startswith(("tests/", "bench/"))}
    faults = list(careless(sources))
    known = options_by_source(build)
    chosen = to_be_checked(tree, sources)
    checked = [name for name in chosen if str(ROOT / name) in known]
    halves = [[name for name in checked if ("torch/include" in " ".join(known[str(ROOT / name)])) == with_torch]
              for with_torch in (True, False)]
    with ThreadPoolExecutor(2) as pool:
        faults += [fault for found in pool.map(lambda names: check(names, known), halves) for fault in found]
    print(*faults, f"{len(checked)} files checked, {len(faults)} with faults", sep="\n")
    if left_out := sorted(set(chosen) - set(checked)):
        print("not in this build:", *left_out)
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
