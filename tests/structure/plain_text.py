#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what makes pages and comments hard to read. tests/structure/ledger.py holds the sums to its table.

    plain_text.py [PAGE ...]   prints the counts of each page (default: all), and its longest sentences with their lines, or
                               else each vague or long clause of a comment

A sentence has at most 35 words, half of them at most 16; a table cell 200 characters; a paragraph 6 lines; a clause of a
comment (up to a semicolon) 30 words. Pages and comments name their subject: no `whoever`, `nobody`, `somebody`. Generated pages
are not counted. No third-party package.
"""
import ast
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"job-file.md"}
FOLDERS = ("base", "bench", "checkpoint", "comm", "coordinator", "data", "gan", "job", "launch", "pipeline", "plan", "python", "report", "run",
           "share", "tests", "worker")
COMMENT = {".hpp": "//", ".cpp": "//", ".cu": "//", ".cuh": "//", ".py": "#", ".js": "//"}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9(x])")
VAGUE = re.compile(r"\b(who|whom|whoever|nobody|somebody)\b", re.IGNORECASE)
MOST_WORDS, MOST_IN_COMMENT, MOST_IN_CELL, MOST_LINES = 35, 30, 200, 6
CLAUSE_END = re.compile(r"(?<=[.!?;])\s+|\s@(?=[a-z])")  # of a comment
LONGEST = 10  # sentences that are printed


def pages():
    return sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*/README.md")])


def blocks_of(page):
    """Yields (first line's number, lines) of each paragraph, list item and table row outside of code."""
    block, first, in_code = [], 0, False
    for number, line in enumerate([*page.read_text().splitlines(), ""], 1):
        starts = re.match(r"\s*([-*]|\d+\.) |\||#", line)
        if line.lstrip().startswith("```") or not line.strip() or starts or in_code:
            if block:
                yield first, block
            block = []
            in_code ^= line.lstrip().startswith("```")
        if line.strip() and not in_code and not line.lstrip().startswith("```"):
            first = number if not block else first
            block.append(line)
    assert not in_code, f"{page}: a code block has no end"


def cells_of(lines):
    """Returns a table row's cells, or else the whole text in a list."""
    text = " ".join(lines)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", text)] if lines[0].lstrip().startswith("|") else [text]


def plain(text):
    """Returns the text without code, links' targets and marks."""
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"[*_\[\]|#>]", " ", text)


def sentences_of(page):
    """Yields (line, words) of each sentence of prose and tables."""
    for number, lines in blocks_of(page):
        for cell in cells_of(lines):
            for sentence in SENTENCE_END.split(plain(cell)):
                if len(words := sentence.split()) > 1:
                    yield number, words


def counts_of_page(page):
    lengths = [len(words) for _, words in sentences_of(page)]
    blocks = list(blocks_of(page))
    cells = [cell for _, lines in blocks if lines[0].lstrip().startswith("|") for cell in cells_of(lines)]
    return {"bytes": page.stat().st_size, "sentences": len(lengths), "median words": statistics.median(lengths or [0]),
            f"sentences over {MOST_WORDS} words": sum(length > MOST_WORDS for length in lengths),
            f"table cells over {MOST_IN_CELL} characters": sum(len(cell) > MOST_IN_CELL for cell in cells),
            f"paragraphs over {MOST_LINES} lines": sum(len(lines) > MOST_LINES for _, lines in blocks),
            "vague subjects": sum(len(VAGUE.findall(plain(" ".join(lines)))) for _, lines in blocks)}


def comments_of(source):
    """Yields (line, text) of each comment, except indented code, and of each paragraph of a docstring."""
    text, mark = source.read_text(errors="replace"), COMMENT[source.suffix]
    block, first, column = [], 0, -1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = re.search(rf"(?:^|\s)({mark}+[/<!]*)\s{{1,2}}(\S.*)$", line)
        if block and not (found and found.start(1) == column and not line[:column].strip()):
            yield first, " ".join(block)
            block = []
        if found and "SPDX" not in line:
            first, column = (first, column) if block else (number, found.start(1))
            block.append(found[2])
    for node in ast.walk(ast.parse(text)) if source.suffix == ".py" else ():
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for paragraph in re.split(r"\n\s*\n|\n(?=    )", ast.get_docstring(node) or ""):
                yield node.body[0].lineno, paragraph


def unplain_comments(folder):
    """Yields ("vague" or "long", file, line, sentence) of comments below the folder."""
    for source in sorted((ROOT / folder).rglob("*")):
        if source.suffix in COMMENT and source.is_file() and "__pycache__" not in source.parts:
            for number, text in comments_of(source):
                for sentence in CLAUSE_END.split(re.sub(r"`[^`]*`", "x", text)):
                    if VAGUE.search(sentence):
                        yield "vague", source, number, sentence
                    if len(sentence.split()) > MOST_IN_COMMENT:
                        yield "long", source, number, sentence


def ledger_counts():
    """Returns {row: count} for tests/structure/ledger.py."""
    counted = [counts_of_page(page) for page in pages() if page.name not in GENERATED]
    rows = {"pages in docs/": len(list((ROOT / "docs").glob("*.md")))}
    for name in (f"sentences over {MOST_WORDS} words", f"table cells over {MOST_IN_CELL} characters",
                 f"paragraphs over {MOST_LINES} lines", "vague subjects"):
        rows[f"pages, {name}"] = sum(counts[name] for counts in counted)
    kinds = [found[0] for folder in FOLDERS for found in unplain_comments(folder)]
    rows["comments, vague subjects"] = kinds.count("vague")
    rows[f"comments, clauses over {MOST_IN_COMMENT} words"] = kinds.count("long")
    return rows


def main(arguments):
    chosen = [Path(name).resolve() for name in arguments] or [page for page in pages() if page.name not in GENERATED]
    for page in chosen:
        print(page.relative_to(ROOT), *(f"{name}: {count:g};" for name, count in counts_of_page(page).items()))
        long = sorted(((len(words), number, words) for number, words in sentences_of(page) if len(words) > MOST_WORDS), reverse=True)
        for length, number, words in long[:LONGEST] if arguments else []:
            print(f"  {page.name}:{number}: {length} words: {' '.join(words[:12])} …")
    if not arguments:
        for kind, source, number, sentence in (found for folder in FOLDERS for found in unplain_comments(folder)):
            print(f"{source.relative_to(ROOT)}:{number}: {kind}: {' '.join(sentence.split()[:12])} …")
        print(*(f"{row}: {count:,}" for row, count in ledger_counts().items()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
