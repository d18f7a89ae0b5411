#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the project's dependencies point one way (docs/architecture.md), by its includes and by the compiler's.

    dependencies.py BUILD_DIR [SOURCE_DIR]

Reads every #include of every source file, the files that the compiler opened for every object (`ninja -t deps`), and the
libraries of the built programs (ldd). Prints one line a violation; exit code 1 if there is one. No third-party package.
"""
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# --- The rules: what may include what -------------------------------------------------------------

# Third-party libraries: patterns of their headers in an #include.
LIBRARIES = {
    "LibTorch": r"^(torch|ATen|c10)/",
    "Protobuf": r"^google/protobuf/|^onnx/|\.pb\.h$",
    "gRPC": r"^(grpc|grpcpp)/",
    "MPI": r"^mpi\.h$",
    "NCCL": r"^nccl\.h$",
    "Python": r"^Python\.h$|^pybind11/",
    "sockets": r"^boost/asio|^sys/socket\.h$|^netinet/",
}
# Patterns of the paths that the compiler opened (torch's wheel carries copies of other libraries).
OPENED = {
    "LibTorch": r"/torch/include/.*(torch|ATen|c10)/",
    "Protobuf": r"/google/protobuf/|\.pb\.h$",
    "gRPC": r"/include/(grpc|grpcpp)/",
    "MPI": r"/(openmpi|mpich)[^/]*/.*\bmpi\.h$",
    "NCCL": r"/nccl\.h$",
}


@dataclass
class Rule:
    """Limits a part of the tree. The longest `path` that a file's name starts with applies."""
    path: str
    modules: tuple  # project folders it may include, besides itself
    never: tuple = ()  # libraries that none of its files may reach, however indirectly
    standard_only: bool = False  # nothing but the C++ standard library and the project


COMPUTES_NOT = ("LibTorch", "NCCL", "Python")
NO_PROCESSES = ("Protobuf", "gRPC", "MPI", "NCCL", "sockets")
JOB = ("base/", "job/")
RUN = (*JOB, "run/")
RULES = (
    Rule("base/", (), COMPUTES_NOT + ("MPI", "Protobuf")),
    Rule("job/", ("base/", "python/read/"), COMPUTES_NOT + ("MPI", "Protobuf")),
    Rule("job/spec.hpp", ("job/",), standard_only=True),
    Rule("job/blocks/", (), COMPUTES_NOT + ("MPI", "Protobuf"), standard_only=True),
    Rule("job/models/", ("base/", "job/blocks/"), COMPUTES_NOT + ("MPI", "Protobuf")),
    Rule("job/primitives/", ("base/", "job/blocks/", "job/models/", "job/families/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("job/families/", ("base/", "job/blocks/", "job/models/"), COMPUTES_NOT + ("MPI", "Protobuf")),
    Rule("run/", JOB, COMPUTES_NOT + ("MPI", "Protobuf")),
    Rule("checkpoint/", ("base/", "run/"), COMPUTES_NOT + ("MPI", "Protobuf", "gRPC")),
    Rule("coordinator/", (*RUN, "checkpoint/", "report/", "comm/transport/mpi_session.hpp"),
         COMPUTES_NOT + ("Protobuf", "gRPC")),
    Rule("coordinator/control/", ("base/", "report/", "run/control/", "coordinator/"), COMPUTES_NOT + ("MPI",)),
    Rule("report/", ("base/", "run/"), COMPUTES_NOT + ("MPI", "Protobuf", "gRPC")),
    Rule("report/run_view/", (*RUN, "checkpoint/", "report/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("report/page/", ("base/",), COMPUTES_NOT + NO_PROCESSES),
    Rule("comm/", (*RUN, "gan/random.hpp"), ("LibTorch", "Protobuf", "gRPC")),
    Rule("pipeline/", JOB, ("LibTorch",) + NO_PROCESSES, standard_only=True),
    Rule("gan/", (*JOB, "data/"), ("Python",) + NO_PROCESSES),
    Rule("gan/blocks/build_networks", (*JOB, "gan/", "python/open/"), ("Python",) + NO_PROCESSES),
    Rule("python/", (*JOB, "gan/"), NO_PROCESSES),
    Rule("python/read/", ("base/", "job/blocks/python_spec.hpp"), COMPUTES_NOT + NO_PROCESSES),
    Rule("python/examples/", ("base/", "job/blocks/python_spec.hpp", "data/named/", "python/read/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("python/open/", (*JOB, "gan/block.hpp", "gan/network.hpp", "gan/random.hpp", "python/read/"), ("Python",) + NO_PROCESSES),
    Rule("data/", (*JOB, "gan/random.hpp", "python/examples/", "python/read/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("gan/recipes/", (*JOB, "pipeline/"), ("LibTorch",) + NO_PROCESSES, standard_only=True),
    Rule("gan/random.hpp", (), ("LibTorch",) + NO_PROCESSES, standard_only=True),
    Rule("worker/", (*RUN, "data/", "gan/", "comm/", "pipeline/", "python/open/", "python/read/", "checkpoint/", "report/"),
         ("Protobuf", "gRPC", "Python")),
    Rule("plan/", (*JOB, "comm/arena/reduction_tree.hpp", "comm/calibrate/calibration.hpp",
                   "comm/calibrate/link_table.hpp", "gan/recipes/", "pipeline/", "report/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("launch/", (*RUN, "bench/store/", "checkpoint/", "plan/", "python/read/", "report/"),
         COMPUTES_NOT + ("MPI", "Protobuf", "gRPC")),
    Rule("launch/control/", (*RUN, "report/", "launch/checkpoints/", "launch/report/operator_table.hpp"),
         COMPUTES_NOT + ("MPI",)),
    Rule("launch/onnx/", (*RUN, "checkpoint/", "gan/layer_noise.hpp", "gan/random.hpp"), COMPUTES_NOT + ("MPI",)),
    Rule("launch/data/", ("base/", "job/", "data/", "gan/pictures/", "launch/process/"), COMPUTES_NOT + NO_PROCESSES),
    Rule("launch/profile/", (*JOB, "comm/", "data/", "gan/", "launch/data/followed_data.hpp", "launch/mpirun/", "plan/",
                             "launch/process/", "pipeline/", "python/open/", "worker/"), NO_PROCESSES),
    Rule("launch/model/", (*JOB, "data/", "gan/", "checkpoint/", "report/", "python/open/", "worker/", "launch/", "run/"), NO_PROCESSES),
    Rule("launch/model/cuda/", (*JOB, "launch/model/", "worker/cuda/"), ("Protobuf", "gRPC", "MPI", "sockets")),
    Rule("tests/", ("",)),
    Rule("bench/", ("",)),
    Rule("bench/store/", (*RUN, "checkpoint/"), COMPUTES_NOT + NO_PROCESSES),
)
# Libraries that one translation unit must not see together.
APART = ("LibTorch", "Protobuf")
# Words that must not be part of an identifier: a model does not know of other workers.
FORBIDDEN_WORDS = {"data/": "rank", "gan/": "rank", "job/blocks/": "rank", "job/models/": "rank", "job/families/": "rank"}
# {program: libraries that it must not load, so that it starts in milliseconds}
LOADS_NOT = {"gangway": r"libtorch|libc10|libpython", "gangway-tools": r"libtorch|libc10|libpython",
             "gangway-onnx": r"libtorch|libc10|libpython",
             "gangway-coordinator": r"libtorch|libc10|libpython",
             "gangway-worker": r"libtorch_python|libpython", "gangway-model": r"libtorch_python|libpython"}

# ----------------------------------------------------------------------------------------------------------------------

FOLDERS = sorted({rule.path.split("/")[0] for rule in RULES})
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
STANDARD = re.compile(r"^[a-z_0-9]+$")  # <vector>, <cstdint>


def rule_of(path):
    return max((rule for rule in RULES if path.startswith(rule.path)), key=lambda rule: len(rule.path), default=None)


def libraries_in(text, patterns):
    return {name for name, pattern in patterns.items() if re.search(pattern, text)}


@dataclass
class Tree:
    """Holds the project's source files and their include graph; paths are relative to the root."""
    root: Path
    text: dict = field(default_factory=dict)
    project_includes: dict = field(default_factory=dict)
    other_includes: dict = field(default_factory=dict)

    def read(self):
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in SUFFIXES and path.is_file():
                    self._read_file(path)
        return self

    def _read_file(self, path):
        name = path.relative_to(self.root).as_posix()
        self.text[name] = path.read_text(errors="replace")
        self.project_includes[name], self.other_includes[name] = [], []
        for _, header in INCLUDE.findall(self.text[name]):
            beside = (path.parent / header).resolve()
            if (self.root / header).is_file():
                self.project_includes[name].append(header)
            elif beside.is_file() and beside.is_relative_to(self.root):
                self.project_includes[name].append(beside.relative_to(self.root).as_posix())
            else:
                self.other_includes[name].append(header)

    def reached_from(self, name):
        """Maps every project file that `name` includes, also indirectly, to the file that includes it."""
        came_through, waiting = {name: None}, [name]
        while waiting:
            current = waiting.pop()
            for header in self.project_includes.get(current, ()):
                if header not in came_through:
                    came_through[header] = current
                    waiting.append(header)
        return came_through


def route(came_through, name):
    through = came_through[name]
    return name if through is None else f"{name} <- {route(came_through, through)}"


def check_includes(tree):
    for name in tree.text:
        rule = rule_of(name)
        came_through = tree.reached_from(name)
        for header in tree.project_includes[name]:
            if header.split("/")[0] != name.split("/")[0] and not header.startswith(rule.modules):
                yield f"{name}: includes '{header}', but {rule.path} may include {', '.join(rule.modules) or 'nothing'}"
            elif rule.path.count("/") > 1 and not header.startswith((rule.path,) + rule.modules):
                yield f"{name}: includes '{header}', but {rule.path} may include {', '.join(rule.modules)}"
        together = {}
        for reached in came_through:
            for header in tree.other_includes.get(reached, ()):
                for library in libraries_in(header, LIBRARIES):
                    together.setdefault(library, f"{header} <- {route(came_through, reached)}")
                if rule.standard_only and not STANDARD.match(header):
                    yield f"{name}: only the standard library is allowed in {rule.path}: {header} <- {route(came_through, reached)}"
        for library in rule.never:
            if library in together:
                yield f"{name}: reaches {library}, which {rule.path} must not: {together[library]}"
        if all(library in together for library in APART):
            yield f"{name}: {' and '.join(APART)} meet: {'; '.join(together[library] for library in APART)}"


def circles(arrows):
    """Returns sorted groups of nodes that reach one another. `arrows`: {node: its targets}."""
    reached = {}
    for node in arrows:
        seen, waiting = set(), [node]
        while waiting:
            new = arrows.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        reached[node] = seen
    groups = {tuple(sorted(other for other in seen if node in reached.get(other, ()))) for node, seen in reached.items()
              if node in seen}
    return sorted(groups)


def check_circles(tree):
    """Yields folders, and pairs of header and source, that need one another."""
    for what, key in (("folders", os.path.dirname), ("files", lambda name: os.path.splitext(name)[0])):
        arrows = {}
        for name, headers in tree.project_includes.items():
            if not name.startswith("tests/"):
                arrows.setdefault(key(name), set()).update(key(header) for header in headers if key(header) != key(name))
        for group in circles(arrows):
            yield f"{what} that need one another: {', '.join(group)}"


def absolute(folder, path):
    return os.path.normpath(os.path.join(folder, path))


def opened_files(build):
    """Maps each object of the build to the absolute paths of the files that its compilation opened."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    opened, current = {}, None
    for line in listing.splitlines():
        if line and not line[0].isspace():
            current = opened.setdefault(absolute(build, line.split(": #deps")[0]), set())
        elif line.strip():
            current.add(absolute(build, line.strip()))
    return opened


def compilations(build):
    """Yields (source file, all files that its compilation opened), absolute, for each object that has been compiled."""
    opened = opened_files(build)
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        made = re.search(r" -o (\S+)", entry["command"])
        files = opened.get(absolute(entry["directory"], made[1])) if made else None
        if files is None:
            continue
        # GCC's list lacks the files of a precompiled header.
        for header in re.findall(r"-include (\S+cmake_pch\.hxx)", entry["command"]):
            files = files | opened.get(absolute(entry["directory"], header) + ".gch", set())
        yield absolute(entry["directory"], entry["file"]), files


def check_opened(tree, build):
    computing, seen = 0, False
    for source, files in compilations(str(build)):
        name = os.path.relpath(source, tree.root)
        if name not in tree.text:
            continue
        rule, together = rule_of(name), {}
        for file in sorted(files):
            for library in libraries_in(file, OPENED):
                together.setdefault(library, file)
        computing += name == "gan/network.cpp"
        seen = seen or "LibTorch" in together
        for library in rule.never:
            if library in together:
                yield f"{name}: its compilation opened {together[library]}, but {rule.path} must not reach {library}"
        if all(library in together for library in APART):
            yield f"{name}: {' and '.join(APART)} met in its compilation: {', '.join(together[l] for l in APART)}"
    if computing and not seen:
        yield f"{build}: gan/network.cpp was compiled, yet no LibTorch header was seen: OPENED does not fit this machine"


def check_words(tree):
    for folder, word in FORBIDDEN_WORDS.items():
        part_of_identifier = re.compile(rf"(?<![a-z]){word}(?![a-z])|{word.capitalize()}(?![a-z])")
        for name, text in tree.text.items():
            if name.startswith(folder):
                code = re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"', lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
                for match in part_of_identifier.finditer(code):
                    yield f"{name}:{code.count(chr(10), 0, match.start()) + 1}: '{word}' in {folder}: models do not know of processes"


def check_programs(build):
    for program, pattern in LOADS_NOT.items():
        path = Path(build) / "bin" / program
        if not path.is_file():
            yield f"{path}: not built, so what it loads cannot be checked"
            continue
        loaded = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
        for line in loaded.splitlines():
            if re.search(pattern, line):
                yield f"{path}: loads {line.split()[0]}: it must start without LibTorch"


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(arguments[0]).resolve()
    root = Path(arguments[1] if len(arguments) == 2 else Path(__file__).parents[2]).resolve()
    tree = Tree(root).read()
    violations = [*check_includes(tree), *check_opened(tree, build), *check_words(tree), *check_circles(tree),
                  *check_programs(build)]
    print(*dict.fromkeys(violations), sep="\n")
    print(f"{len(tree.text)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
