#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that files named in documents and comments exist (links, paths), and that comments name no
file outside the project. A link [`Class::function`](file.hpp) must name a file with that word. Each page of docs/ has a
place in the site (mkdocs.yml).

    documents.py [SOURCE_DIR]
"""
import re
import sys
from pathlib import Path

FOLDERS = "base|bench|checkpoint|cmake|comm|coordinator|data|docs|examples|gan|job|launch|pipeline|plan|python|report|run|tests|worker"
LINK = re.compile(r"\]\(([^)#:]+)\)")  # [text](file)
NAMED_LINK = re.compile(r"\[`(?:\w+::)*(\w+)`\]\(([^)#:]+)\)")  # [`Class::function`](file)
PATH = re.compile(rf"(?<![\w/.-])(?:\./)?((?:{FOLDERS})/[\w./*-]*[\w*])")
COMMENT = re.compile(r"(?:^|\s)(?://|#)(.*)$")
SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".proto", ".txt", ".cmake"}
ELSEWHERE = re.compile(r"\b(design|style|facts)\.md\b|\bnotes/")


def comments(root):
    """Yields (file, number of the line, text) of each comment."""
    for folder in FOLDERS.split("|"):
        for source in sorted((root / folder).rglob("*")):
            if source.suffix in SOURCES and source.is_file():
                for number, line in enumerate(source.read_text().splitlines(), 1):
                    if found := COMMENT.search(line):
                        yield source.relative_to(root), number, found[1]


def missing_in_comments(root):
    for source, number, text in comments(root):
        if not text.lstrip().startswith("include"):
            for name in PATH.findall(text):
                if not any(root.glob(name)) and not any(root.glob(name + ".*")):
                    yield f"{source}:{number}: '{name}' does not exist"
            if found := ELSEWHERE.search(text):
                yield f"{source}:{number}: '{found[0]}' is not in the project"


def missing_paths(root):
    for document in sorted([*root.glob("*.md"), *(root / "docs").glob("*.md"), *root.glob("*/README.md")]):
        for number, line in enumerate(document.read_text().splitlines(), 1):
            named = [(document.parent, link) for link in LINK.findall(line)]
            named += [(root, path) for path in PATH.findall(line)]
            for folder, name in named:
                if not any(folder.glob(name)):
                    yield f"{document.relative_to(root)}:{number}: '{name}' does not exist"
            for word, link in NAMED_LINK.findall(line):
                file = document.parent / link
                if file.is_file() and not re.search(rf"\bk?{word}\b", file.read_text()):
                    yield f"{document.relative_to(root)}:{number}: '{link}' has no '{word}'"


def missing_in_site(root):
    places = (root / "mkdocs.yml").read_text()
    for page in sorted((root / "docs").glob("[!R]*.md")):
        if f"- {page.name}\n" not in places:
            yield f"mkdocs.yml: has no place for 'docs/{page.name}'"


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve()
    missing = [*missing_paths(root), *missing_in_comments(root), *missing_in_site(root)]
    print(*missing, f"{len(missing)} paths named in documents and comments, or places of pages, are missing", sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
