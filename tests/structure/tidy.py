#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy with the checks of .clang-tidy on production code.

    tidy.py BUILD_DIR [--jobs 2] [--checks=...] [PATH...]

PATH: files or folders from the root of the checkout; default: all that this build compiles. Reads the options from
BUILD_DIR/compile_commands.json. A build that compiles files together (the preset release) takes a fraction of the time.
Generated files must exist. Prints each finding once; exit code 1 if there is one. Names files that Clang 14 cannot read (it
does not know std::views of GCC's library), and skips them.
"""
import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compile_options import compilations

ROOT = Path(__file__).parents[2].resolve()
NOT_PRODUCTION = ("tests/", "bench/", "build/")
UNREAD = "[clang-diagnostic-error]"
# The first line of a finding; its further lines and notes follow.
FINDING = re.compile(rf"^{ROOT}/(?P<name>[^:]*):\d+:\d+: (?:error|warning): ")


def findings(file, sources, options, checks):
    """Returns ([(source file, text) of each finding], [files that Clang cannot read]). Where Clang
    cannot read a compilation, checks its sources one by one."""
    words = ["clang-tidy", "--quiet", "--header-filter", rf"^{ROOT}/.*\.(hpp|cpp)$", *checks, file, "--", *options]
    done = subprocess.run(words, capture_output=True, text=True)
    found = []
    for line in done.stdout.splitlines():
        if start := FINDING.match(line):
            found.append([start["name"], line.removeprefix(f"{ROOT}/")])
        elif found:
            found[-1][1] += "\n" + line
    if unread := [text for _, text in found if UNREAD in text] or (not found and done.returncode != 0):
        if len(sources) == 1:
            return [], [unread[0] if found else f"{sources[0]}: clang-tidy failed: {done.stderr[-500:]}"]
        each = [findings(source, [source], options, checks) for source in sources]
        return sum((found for found, _ in each), []), sum((unread for _, unread in each), [])
    return found, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--checks", help="added to those of .clang-tidy, as clang-tidy takes them")
    options = parser.parse_intermixed_args()
    checks = [f"--checks={options.checks}"] if options.checks else []

    def is_wanted(source):
        name = source.removeprefix(f"{ROOT}/")
        return (name.endswith(".cpp") and not name.startswith(("/", *NOT_PRODUCTION)) and
                (not options.paths or any(Path(name).is_relative_to(path) for path in options.paths)))

    def look(compilation):
        file, sources, flags = compilation
        begin = time.monotonic()
        found = findings(file, sources, flags, checks)
        print(f"# {file.removeprefix(f'{ROOT}/')}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        return found

    chosen = [compilation for compilation in compilations(options.build) if any(map(is_wanted, compilation[1]))]
    shown, unread = set(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for found, not_read in pool.map(look, chosen):
            unread += not_read
            for name, text in found:
                if text not in shown and not name.startswith("build/"):  # files that include others
                    shown.add(text)
                    print(text, flush=True)
    print(*(f"not read: {text}" for text in unread), f"{len(chosen)} compilations, {len(shown)} findings", sep="\n")
    return 1 if shown or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
