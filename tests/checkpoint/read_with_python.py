#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads Gangway's files with the `safetensors` package, as users would: names, types, shapes, values and metadata. Joins
tensors with the lines that docs/checkpoint-format.md gives."""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy
from safetensors import safe_open


def expected_values(tensor: dict) -> numpy.ndarray:
    """Returns the values that checkpoint_writer stores under a name at step 3, in stored order."""
    index = int(tensor["name"].split(".")[1])
    values = (numpy.arange(numpy.prod(tensor["shape"])) + 3 * 31 + index * 7).astype(numpy.float32)
    if tensor["order"] == "channels-last":
        values = values.reshape(tensor["shape"]).transpose(0, 2, 3, 1)
    return values.reshape(-1)


def read_file(path: str, entry: dict, found: dict) -> None:
    assert os.path.getsize(path) == entry["bytes"]
    with safe_open(path, framework="numpy") as tensors:
        assert tensors.metadata()["gangway.step"] == "3", tensors.metadata()
        assert tensors.metadata()["gangway.worker"] == str(entry["worker"])
        for name in tensors.keys():
            assert (entry["worker"], name) not in found
            found[entry["worker"], name] = tensors.get_tensor(name)


def check_documented_lines(checkpoint: str, manifest: dict) -> None:
    with open("docs/checkpoint-format.md", encoding="utf-8") as page:
        lines = page.read().split("```python\n")[1].split("```")[0]
    lines = re.sub(r'folder = ".*"', f"folder = {checkpoint + '/'!r}", lines)
    names: dict = {}
    exec(lines, names)
    for tensor in manifest["tensors"]:
        values = names["state"][tensor["name"]]
        index = int(tensor["name"].split(".")[1])
        expected = numpy.arange(values.size) + 3 * 31 + index * 7
        assert list(values.shape) == tensor["shape"] and numpy.array_equal(values.reshape(-1), expected), tensor["name"]


def main() -> None:
    writer = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="gangway-python-") as directory:
        subprocess.run([writer, "write", directory, "3"], check=True, stdout=subprocess.DEVNULL)
        checkpoint = os.path.join(directory, "step-000000003")
        with open(os.path.join(checkpoint, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        assert manifest["step"] == 3 and manifest["format_version"] == 2, manifest
        found: dict = {}
        for entry in manifest["files"]:
            read_file(os.path.join(checkpoint, entry["name"]), entry, found)
        check_documented_lines(checkpoint, manifest)
    num_pieces = 0
    for tensor in manifest["tensors"]:
        values = expected_values(tensor)
        for piece in tensor["pieces"]:
            whole = len(tensor["pieces"]) == 1 and tensor["order"] == "row-major"
            name = tensor["name"] if whole else f"{tensor['name']}@{piece['begin']}"
            read = found.pop((piece["file"], name))
            assert read.shape == (tuple(tensor["shape"]) if whole else (piece["end"] - piece["begin"],)), name
            assert numpy.array_equal(read.reshape(-1), values[piece["begin"]:piece["end"]]), name
            num_pieces += 1
    assert not found and num_pieces == 5, (found, num_pieces)
    print(f"Python's safetensors read {num_pieces} pieces of {len(manifest['tensors'])} tensors from {len(manifest['files'])} files")


if __name__ == "__main__":
    main()
