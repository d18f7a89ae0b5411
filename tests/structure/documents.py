#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the files of the project which its documents name exist: links, and paths in backquotes or in brackets.

    documents.py [SOURCE_DIR]
"""
import re
import sys
from pathlib import Path

FOLDERS = "bench|checkpoint|cmake|comm|coordinator|docs|examples|gan|job|launch|pipeline|report|tests|worker"
LINK = re.compile(r"\]\(([^)#:]+)\)")  # [text](file)
PATH = re.compile(rf"(?<![\w/.-])(?:\./)?((?:{FOLDERS})/[\w./*-]*[\w*])")


def missing_paths(root):
    for document in sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")]):
        for number, line in enumerate(document.read_text().splitlines(), 1):
            named = [(document.parent, link) for link in LINK.findall(line)]
            named += [(root, path) for path in PATH.findall(line)]
            for folder, name in named:
                if not any(folder.glob(name)):
                    yield f"{document.relative_to(root)}:{number}: '{name}' does not exist"


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve()
    missing = list(missing_paths(root))
    print(*missing, f"{len(missing)} paths named in documents are missing", sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
