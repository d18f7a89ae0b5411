#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes one small place of the code at a time, and checks that a unit or fidelity test notices.

    tests/mutation/run.py [--count 80] [--seed 1] [--skip 0] [--paths gan,worker,...] [--without torch,cuda] [--together]

Works in its own checkout of HEAD, build/mutation. A stopped run can be started again. Prints each mutant with its place and
fate, and at the end how many were killed. A mutant that does not compile is not counted. Half of the mutants are from gan/ and
worker/, unless --paths names other folders. --without leaves out parts as launch/build does, with their tests. Exit code 1 if
fewer than 95 % were killed. Most mutants take half a minute, surviving ones five minutes. A mutant whose tests ran out of
time without a failure is "late" (an endless loop, or a busy machine); it counts as killed.
"""
import argparse
import itertools
import json
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
# Mutants are taken from these lists alternately.
PATHS = (["gan", "worker/step", "worker/state"],
         ["comm/arena", "comm/reduce", "coordinator/core", "coordinator/resume", "checkpoint/format", "checkpoint/store",
          "checkpoint/snapshots", "pipeline", "job/keys", "job/rules", "job/file"])
ENOUGH = 0.95
LIMIT = 900  # seconds for all tests on one mutant
NEAR_LIMIT = 120  # seconds for the first tests: some mutants never end
# Patterns and their replacements, applied once.
CHANGES = [(re.compile(old), new) for old, new in (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+= ", " -= "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\+\+(?=\w)", "--"), (r"(?<=[( ])!(?=\w)", ""),
    (r"(?<![\w.])1(?![\w.'])", "2"), (r"(?<![\w.])0(?![\w.'x])", "1"), (r"\bstd::min\b", "std::max"),
    (r"\bstd::max\b", "std::min"), (r"\.begin\b(?!\()", ".end"), (r"\.end\b(?!\()", ".begin"))]
NO_CODE = re.compile(r"^\s*(//|#|using |namespace |static_assert|template|throw |fmt::format|\"|\}?$)|assert|fmt::format|\"")
# Tests that read only source texts, or state that an earlier mutant may have left.
TEXT_TESTS = r"unit\.(format|documents|dependenc|quickstart_targets|thread_safety|shared_memory|gpu_harness|ledger)"
ALL_TESTS = ("-L", "unit|fidelity")
# Tests that are built and run first, by folder of the mutant; the default is the tests named after the folder.
NEAR_TESTS = {"data": "data_test", "gan/evaluation": "gan_evaluation", "gan/pictures": "pictures_test",
              "gan/recipes": "gan_recipes",
              "gan": "gan_(random|networks|penalty|r3gan|gat|biggan|stylegan2|transfer|translation|progressive)",
              "worker": "worker_test"}


def call(*words, where=TREE, **options):
    return subprocess.run([str(word) for word in words], cwd=where, capture_output=True, text=True, **options)


def require(*words, where=TREE):
    done = call(*words, where=where)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {(done.stdout + done.stderr)[-2000:]}")


def prepare(left_out, together):
    """Makes the checkout of this commit and builds it like this tree."""
    if not (TREE / ".git").exists():
        require("git", "worktree", "add", "--force", "--detach", TREE, where=ROOT)  # a user may have removed the worktree by hand
    head = call("git", "rev-parse", "HEAD", where=ROOT).stdout.strip()
    require("git", "checkout", "--force", "--detach", head)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to(ROOT / ".venv")
    # Without unity builds, unless --together: a mutant costs the compilation of its file.
    require("cmake", "--preset", "release", f"-DGANGWAY_TOGETHER={'ON' if together else 'OFF'}",
            *(f"-DGANGWAY_WITH_{part.upper()}=OFF" for part in left_out.split(",") if part))
    require("ninja", "-C", BUILD)
    if outcome(*ALL_TESTS) != "passed":
        sys.exit(f"the tests fail without a mutant; look with: cd {BUILD} && ctest -L 'unit|fidelity' --output-on-failure")


def places(paths):
    """Returns all (file, line number, change)."""
    for path in paths:
        for source in sorted(set((TREE / path).rglob("*.cpp")) - set((TREE / path).rglob("cuda/*"))):
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


def outcome(*selection, limit=LIMIT):
    """Runs the selected tests. Returns passed, killed (a test failed) or late."""
    words = ["ctest", "-j2", "--stop-on-failure", "-E", TEXT_TESTS, "-FA", ".", *selection]
    with subprocess.Popen(words, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as tests:
        try:
            said = tests.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(tests.pid, signal.SIGKILL)
            return "late"
    return "passed" if tests.returncode == 0 else "late" if "***Timeout" in said and "***Failed" not in said else "killed"


def near_tests(source):
    """Returns (regular expression of test names, Ninja targets of their programs)."""
    path = str(source.relative_to(TREE))
    names = next((names for folder, names in NEAR_TESTS.items() if path.startswith(f"{folder}/")), path.split("/")[0])
    listing = json.loads(call("ctest", "--show-only=json-v1", "-L", "unit", "-R", names, where=BUILD).stdout)
    programs = (Path(test["command"][0]) for test in listing["tests"])
    return names, [program.relative_to(BUILD) for program in programs if program.is_relative_to(BUILD)]


def fate(source):
    """Returns the fate of the checkout's mutant: stillborn, killed, late or survived."""
    names, programs = near_tests(source)
    if call("ninja", "-C", BUILD, *programs).returncode != 0:
        return "stillborn"
    near = outcome("-L", "unit", "-R", names, limit=NEAR_LIMIT)
    if near != "passed":
        return near
    if call("ninja", "-C", BUILD).returncode != 0:
        return "stillborn"
    found = [outcome("-L", label) for label in ("unit", "fidelity")]
    return next((one for one in found if one != "passed"), "survived")


def in_turn(lists, seed):
    """Shuffles each list. Yields the first item of each, then the second of each, and so on."""
    for one in lists:
        random.Random(seed).shuffle(one)
    return (item for items in itertools.zip_longest(*lists) for item in items if item)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="mutants that an earlier run has printed, of the same commit and seed")
    parser.add_argument("--paths", type=lambda text: [text.split(",")], default=PATHS)
    parser.add_argument("--without", default="")
    parser.add_argument("--together", action="store_true", help="compile files together: a much shorter build, slower mutants")
    options = parser.parse_args()
    prepare(options.without, options.together)
    counts = {"stillborn": 0, "killed": 0, "late": 0, "survived": 0}
    mutants = in_turn([list(places(paths)) for paths in options.paths], options.seed)
    for source, number, change in itertools.islice(mutants, options.skip, None):
        before, after = mutate(source, number, change)
        what = fate(source)
        counts[what] += 1
        require("git", "checkout", "--", source)
        print(f"{what:9} {source.relative_to(TREE)}:{number + 1}: {before}  ->  {after}", flush=True)
        if sum(counts.values()) - counts["stillborn"] == options.count:
            break
    living = sum(counts.values()) - counts["stillborn"]
    share = (living - counts["survived"]) / max(1, living)
    print(f"{living - counts['survived']} of {living} killed ({100 * share:.0f} %), {counts['late']} of them late, "
          f"{counts['stillborn']} did not compile; seed {options.seed}")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
