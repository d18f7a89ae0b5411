#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every source file has the layout of .clang-format.

    format.py [--fix]
"""
import subprocess
import sys
from pathlib import Path

import dependencies

ROOT = Path(__file__).parents[2].resolve()
CLANG_FORMAT = ROOT / ".venv/bin/clang-format"


def main(arguments):
    if arguments not in ([], ["--fix"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = [str(ROOT / name) for name in dependencies.Tree(ROOT).read().text]
    files += map(str, sorted((ROOT / "examples").rglob("*.cpp")))
    result = subprocess.run([CLANG_FORMAT, *(["-i"] if arguments else ["--dry-run", "-Werror"]), *files],
                            capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if " error: " in line})
    for name in wrong:
        print(f"{Path(name).relative_to(ROOT)}: not laid out as .clang-format says; mend it with tests/structure/format.py --fix")
    print(f"{len(files)} files, {len(wrong)} to be mended")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
