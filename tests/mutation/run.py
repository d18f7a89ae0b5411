#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes the code in one small place at a time, and looks whether a unit or fidelity test notices.

    tests/mutation/run.py [--count 80] [--seed 1] [--paths gan,worker,...] [--without torch,cuda]

Works in a checkout of its own, build/mutation, of what is committed; so that it may be stopped and started again. Prints each
mutant with its place and fate, and at the end how many were killed. One that does not compile counts for nothing. --without, as
of launch/build, leaves out what links those, and its tests. Exit code 1 where fewer than 95 % were killed. Some minutes a
mutant.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build/mutation"
BUILD = TREE / "build/release"
PATHS = ("gan,worker/step,worker/state,comm/arena,comm/reduce,coordinator/mind,coordinator/resume,checkpoint/format,"
         "checkpoint/store,checkpoint/snapshots,pipeline,job/keys")
ENOUGH = 0.95
LIMIT = 900  # seconds for the tests of one mutant
# What is replaced by what: in code, once.
CHANGES = [(re.compile(old), new) for old, new in (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+= ", " -= "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\+\+(?=\w)", "--"), (r"(?<=[( ])!(?=\w)", ""),
    (r"(?<![\w.])1(?![\w.'])", "2"), (r"(?<![\w.])0(?![\w.'x])", "1"), (r"\bstd::min\b", "std::max"),
    (r"\bstd::max\b", "std::min"), (r"\.begin\b(?!\()", ".end"), (r"\.end\b(?!\()", ".begin"))]
NO_CODE = re.compile(r"^\s*(//|#|using |namespace |static_assert|template|throw |fmt::format|\"|\}?$)|assert|fmt::format|\"")
# These look at the text of the sources, at nothing that a mutant is in, or at what an earlier mutant may have left.
TEXT_TESTS = r"unit\.(format|documents|dependenc|quickstart_targets|thread_safety|shared_memory|gpu_harness|compare_with_pillow)"
ALL_TESTS = ("-L", "unit|fidelity")


def call(*words, where=TREE, **options):
    return subprocess.run([str(word) for word in words], cwd=where, capture_output=True, text=True, **options)


def require(*words, where=TREE):
    done = call(*words, where=where)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {(done.stdout + done.stderr)[-2000:]}")


def prepare(left_out):
    """The checkout at this commit, built as it is."""
    if not (TREE / ".git").exists():
        require("git", "worktree", "add", "--force", "--detach", TREE, where=ROOT)  # it may have been removed by hand
    head = call("git", "rev-parse", "HEAD", where=ROOT).stdout.strip()
    require("git", "checkout", "--force", "--detach", head)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to(ROOT / ".venv")
    require(TREE / "launch/build", *(["--without", left_out] if left_out else []), "release")
    if not passes(*ALL_TESTS):
        sys.exit(f"the tests fail without a mutant; look with: cd {BUILD} && ctest -L 'unit|fidelity' --output-on-failure")


def places(paths):
    """All (file, line number, change) that could be made."""
    for path in paths:
        for source in sorted((TREE / path).rglob("*.cpp")):
            for number, line in enumerate(source.read_text().splitlines()):
                code = line.split("//")[0]
                if not NO_CODE.search(code):
                    for change in CHANGES:
                        if change[0].search(code):
                            yield source, number, change


def mutate(source, number, change):
    lines = source.read_text().splitlines(keepends=True)
    before = lines[number]
    lines[number] = change[0].sub(change[1], before, count=1)
    source.write_text("".join(lines))
    return before.strip(), lines[number].strip()


def passes(*selection):
    """Whether the selected tests do, in time: some mutants never end."""
    words = ["ctest", "-j2", "--stop-on-failure", "-E", TEXT_TESTS, "-FA", ".", *selection]
    with subprocess.Popen(words, cwd=BUILD, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as tests:
        try:
            return tests.wait(timeout=LIMIT) == 0
        except subprocess.TimeoutExpired:
            os.killpg(tests.pid, signal.SIGKILL)
            return False


def fate(source):
    """Of the mutant that is in the checkout now: stillborn, killed or survived."""
    if call("ninja", "-C", BUILD).returncode != 0:
        return "stillborn"
    folder = source.relative_to(TREE).parts[0]
    # The likely ones first.
    return "survived" if passes("-L", "unit", "-R", folder) and passes(*ALL_TESTS) else "killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paths", default=PATHS)
    parser.add_argument("--without", default="")
    options = parser.parse_args()
    prepare(options.without)
    chosen = list(places(options.paths.split(",")))
    random.Random(options.seed).shuffle(chosen)
    counts = {"stillborn": 0, "killed": 0, "survived": 0}
    for source, number, change in chosen:
        before, after = mutate(source, number, change)
        what = fate(source)
        counts[what] += 1
        require("git", "checkout", "--", source)
        print(f"{what:9} {source.relative_to(TREE)}:{number + 1}: {before}  ->  {after}", flush=True)
        if counts["killed"] + counts["survived"] == options.count:
            break
    share = counts["killed"] / max(1, counts["killed"] + counts["survived"])
    print(f"{counts['killed']} of {counts['killed'] + counts['survived']} killed ({100 * share:.0f} %), "
          f"{counts['stillborn']} did not compile; seed {options.seed}")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
