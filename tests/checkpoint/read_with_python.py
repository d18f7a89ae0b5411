#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads our files with the `safetensors` package, as any user would: names, types, shapes, values and metadata."""

import json
import os
import subprocess
import sys
import tempfile

import numpy
from safetensors import safe_open


def main() -> None:
    writer = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="gangway-python-") as directory:
        subprocess.run([writer, "write", directory, "3"], check=True, stdout=subprocess.DEVNULL)
        checkpoint = os.path.join(directory, "step-000000003")
        with open(os.path.join(checkpoint, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        assert manifest["step"] == 3 and manifest["format_version"] == 1, manifest
        names = []
        for entry in manifest["files"]:
            path = os.path.join(checkpoint, entry["name"])
            assert os.path.getsize(path) == entry["bytes"]
            with safe_open(path, framework="numpy") as tensors:
                assert tensors.metadata()["gangway.step"] == "3", tensors.metadata()
                assert tensors.metadata()["gangway.worker"] == str(entry["worker"])
                for name in tensors.keys():
                    _, worker, _, index = name.split(".")
                    values = tensors.get_tensor(name)
                    start = 3 * 31 + int(worker) * 7 + int(index)
                    expected = (numpy.arange(12_000 + int(index)) + start).astype(numpy.float32)
                    assert values.dtype == numpy.float32 and numpy.array_equal(values, expected), name
                    names.append(name)
        assert len(names) == manifest["tensor_count"] == 6, names
    print(f"Python's safetensors read {len(names)} tensors from {len(manifest['files'])} files")


if __name__ == "__main__":
    main()
