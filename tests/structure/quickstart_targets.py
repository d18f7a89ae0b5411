#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that ./launch/quickstart builds nothing before a training that the training does not need.

    quickstart_targets.py BUILD_DIR

Asks Ninja for the parts of the target `quickstart`; compiles nothing. Prints one line a violation; exit code 1 if there is
one.
"""
import re
import subprocess
import sys

NEEDED = ("gangway", "gangway-coordinator", "gangway-worker")
# A new user would wait for these without need.
REFUSED = {
    "CUDA": r"\.cu\b|nvcc|/(cuda|nccl)/\w+\.cpp",
    "a test": r"/tests/\S+\.cpp|gtest|gmock",
    "a benchmark": r"/bench/\S+\.cpp",
    "what scores or samples": r"/launch/model/\S+\.cpp",
}


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    listing = subprocess.run(["ninja", "-C", arguments[0], "-t", "commands", "quickstart"],
                             capture_output=True, text=True, check=True).stdout
    commands = listing.splitlines()
    violations = [f"'quickstart' does not link {program}" for program in NEEDED
                  if not any(re.search(rf"-o bin/{program}(\s|$)", command) for command in commands)]
    for command in commands:
        violations += [f"'quickstart' builds {what}: {command[-160:]}" for what, pattern in REFUSED.items()
                       if re.search(pattern, command)]
    print(*violations, sep="\n")
    print(f"{len(commands)} commands, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
