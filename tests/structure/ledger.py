#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the size of the project to a checked-in table, tests/structure/ledger.md.

A file has at most 800 lines, a function 60, a class 20 data members; those above it have rows, too. So have what
tests/structure/plain_text.py counts in pages and comments; a row of 0 is left out.

    ledger.py                  prints each count beside its row; exit code 1 if a count is above its row
    ledger.py --lower          lowers the rows to today's counts
    ledger.py --record BUILD   writes the times of the last `./tests/run` to BUILD/test-times.txt
    ledger.py --keep BUILD     copies these times to tests/times.txt

A row is raised by an entry "+N for X, and Y left" in its last column, which names what needs the lines and what paid for
them. tests/times.txt has each test's last time; CMake limits the test to three times that (cmake/GangwayTargets.cmake).
No third-party package.
"""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

import plain_text

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/structure/ledger.md"
TIMES = ROOT / "tests/times.txt"
PRODUCTION = ("base", "bench", "checkpoint", "cmake", "comm", "coordinator", "data", "examples", "gan", "job", "launch", "pipeline",
              "plan", "python", "report", "run", "share", "worker")
LANGUAGES = {".hpp": "C++", ".cpp": "C++", ".h": "C++", ".cu": "CUDA", ".cuh": "CUDA", ".py": "Python", ".js": "web",
             ".css": "web", ".html": "web", ".sh": "shell", "": "shell", ".cmake": "CMake", ".txt": "CMake", ".proto": "Protobuf"}
TYPE = re.compile(r"^\s*(?:class|struct|enum(?: class| struct)?|union)\s+(?:\[\[.*?\]\]\s*)?\w[\w:]*[^;()]*\{", re.MULTILINE)
MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_MEMBERS = 20
KEY = re.compile(r"^\| `", re.MULTILINE)
ROW = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<first>[\d,]+) \|(?P<raises>[^|]*)\|$", re.MULTILINE)
RAISE = re.compile(r"\+(\d+) for [^;]+?, and [^;]+? left")
BY_HAND = ("slow.", "gpu.", "campaign.")  # labels that `./tests/run` leaves out


def language_of(path, text):
    if path.suffix == ".txt" and path.name != "CMakeLists.txt" or path.suffix == "" and not text.startswith("#!"):
        return None
    return LANGUAGES.get(path.suffix)


def line_counts(root):
    """Returns Counter of lines by (folder, language), and {file: text} of all C++ and CUDA."""
    counts, code = Counter(), {}
    for folder in (*PRODUCTION, "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in LANGUAGES or not path.is_file() or "__pycache__" in path.parts:
                continue
            text = path.read_text(errors="replace")
            language = language_of(path, text)
            if language:
                counts[folder, language] += text.count("\n")
                if language in ("C++", "CUDA"):
                    code[path.relative_to(root).as_posix()] = text
    return counts, code


NOT_A_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|do|else|return|\})\b")
NAME_BEFORE_PARENTHESIS = re.compile(r"([\w~:]+|\(\))\(")


def functions_of(lines):
    """Yields (name, number of lines) of each function's definition, as our format lays them out."""
    first, closing = None, None
    for number, line in enumerate(lines):
        if closing is None and line.endswith("{"):
            first = number
            while first > 0 and lines[first].startswith("    "):  # a signature of several lines
                first -= 1
            if "(" in lines[first] and not NOT_A_FUNCTION.match(lines[first]):
                closing = lines[first][:len(lines[first]) - len(lines[first].lstrip())] + "}"
        elif closing is not None and line == closing:
            name = NAME_BEFORE_PARENTHESIS.search(lines[first])
            yield name[1] if name else lines[first].strip(), number - first + 1
            closing = None


CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?([\w:]+)(?:\s+final)?(?:\s*:\s*[^;{()]*)?\s*\{")
NOT_A_MEMBER = re.compile(r"\s*(using|friend|typedef|static|enum|class|struct|template|operator|virtual|explicit|constexpr)\b")


def without_comments(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])\'(?!\w)', " ", text, flags=re.DOTALL)


def closing_brace(code, opening):
    depth = 0
    for position in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return len(code)


def statements(body):
    """Returns the declarations of a class's body, less the content of braces, <>, guard macros."""
    flat = body
    for pattern, mark in ((r"\{[^{}]*\}", "@"), (r"<[^<>;{}]*>", "")):
        previous = None
        while previous != flat:
            previous, flat = flat, re.sub(pattern, mark, flat)
    flat = re.sub(r"\b(GUARDED_BY|PT_GUARDED_BY|alignas)\([^()]*\)", "", flat)
    flat = re.sub(r"\b(public|protected|private)\s*:|\[\[[^\]]*\]\]", "", flat)
    flat = re.sub(r"\)([^;@=]*)@", r")\1;", flat)  # a function's body ends it as a semicolon would
    return flat.split(";")


def members_of(body):
    """Returns the number of data members that a class's body declares."""
    count = 0
    for statement in statements(body):
        declared = re.split(r"[=@]", statement)[0].strip()
        if re.search(r"\w\s+[*&]?\s*\w+|[*&]\s*\w+", declared) and "(" not in declared and not NOT_A_MEMBER.match(declared):
            count += 1 + declared.count(",")
    return count


def classes_of(text):
    """Yields (name, number of data members) of each class."""
    code = without_comments(text)
    for match in CLASS.finditer(code):
        if not re.search(r"enum\s*$", code[:match.start()]):
            yield match[1], members_of(code[match.end():closing_brace(code, match.end() - 1)])


def large_ones(texts):
    """Returns {row: count} of the files, functions and classes above the limits."""
    large = {}
    for name, text in texts.items():
        lines = text.splitlines()
        found = [(f"file {name}, lines", len(lines), MAX_FILE_LINES)]
        found += [(f"function {name} {function}, lines", length, MAX_FUNCTION_LINES) for function, length in functions_of(lines)]
        found += [(f"class {name} {one}, data members", members, MAX_MEMBERS) for one, members in classes_of(text)]
        for row, count, limit in found:
            if count > limit:
                large[row] = max(count, large.get(row, 0))
    return large


def read_times(path):
    """Reads {test: (seconds, processors)}; {} if there is no file."""
    if not path.is_file():
        return {}
    rows = (line.split() for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: (float(seconds), int(processors)) for seconds, processors, name in rows}


def write_times(path, times):
    path.write_text("# Last time of each test: seconds, ctest's PROCESSORS, name (tests/structure/ledger.py).\n"
                    + "".join(f"{times[name][0]:7.1f} {times[name][1]} {name}\n" for name in sorted(times)))


def counts_of(root):
    lines, texts = line_counts(root)
    code = "\n".join(text for name, text in texts.items() if not name.startswith("tests/"))
    counts = {f"lines, {folder}/, {language}": number for (folder, language), number in sorted(lines.items())}
    counts["lines, production, C++ and CUDA"] = sum(
        number for (folder, language), number in lines.items() if folder != "tests" and language in ("C++", "CUDA"))
    counts["lines, tests"] = sum(number for (folder, _), number in lines.items() if folder == "tests")
    counts["types"] = len(TYPE.findall(code))
    counts["keys of the job file"] = len(KEY.findall((root / "docs/job-file.md").read_text()))
    counts["places that add a command"] = len(re.findall(r"\badd_subcommand\(", code))
    counts["tests, seconds × processors"] = round(sum(
        seconds * processors for name, (seconds, processors) in read_times(TIMES).items() if not name.startswith(BY_HAND)))
    return counts | plain_text.ledger_counts() | large_ones(texts)


def rows_of(text):
    """Reads the table's {name: limit}. Raises ValueError for a raise without both of its halves."""
    rows = {}
    for match in ROW.finditer(text):
        raises = match["raises"].strip()
        entries = [entry.strip() for entry in raises.split(";")] if raises else []
        for entry in entries:
            if not RAISE.fullmatch(entry):
                raise ValueError(f"{match['name']}: '{entry}' is not '+N for X, and Y left'")
        rows[match["name"]] = int(match["first"].replace(",", "")) + sum(int(RAISE.fullmatch(entry)[1]) for entry in entries)
    return rows


def violations_of(counts, rows):
    for name, count in counts.items():
        if name not in rows and count > 0:
            yield f"{name}: {count:,}, and the ledger has no row for it: add one"
        elif count > rows.get(name, 0):
            yield f"{name}: {count:,}, at most {rows[name]:,}: remove something, or raise the row by '+N for X, and Y left'"


def lowered(text, counts):
    def row(match):
        name = match["name"]
        count, limit = counts.get(name, 0), rows_of(match[0])[name]
        return match[0] if count >= limit else f"| {name} | {count:,} | |" if count else ""
    return re.sub(r"\|\n\n+(?=\|)", "|\n", ROW.sub(row, text))


def record(build):
    """Merges the times of ctest's last run, tests/run's, into the build folder's file."""
    listing = json.loads(subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True,
                                        check=True).stdout)
    processors = {test["name"]: next((int(one["value"]) for one in test.get("properties", ()) if one["name"] == "PROCESSORS"), 1)
                  for test in listing["tests"]}
    path = build / "test-times.txt"
    times = {name: time for name, time in read_times(path).items() if name in processors}
    for case in xml.etree.ElementTree.parse(build / "tests.xml").iter("testcase"):
        if case.get("status") == "run" and case.get("name") in processors:
            times[case.get("name")] = float(case.get("time")), processors[case.get("name")]
    write_times(path, times)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--record":
        record(Path(arguments[1]))
        return 0
    if len(arguments) == 2 and arguments[0] == "--keep":
        write_times(TIMES, read_times(TIMES) | read_times(Path(arguments[1]) / "test-times.txt"))
        return 0
    if arguments not in ([], ["--lower"]):
        print(__doc__, file=sys.stderr)
        return 2
    counts = counts_of(ROOT)
    if arguments:
        TABLE.write_text(lowered(TABLE.read_text(), counts))
    rows = rows_of(TABLE.read_text())
    for name, count in counts.items():
        print(f"{count:9,} of {rows.get(name, 0):9,}  {name}")
    violations = [*violations_of(counts, rows)]
    print(*violations, sep="\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
