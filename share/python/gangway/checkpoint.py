# SPDX-License-Identifier: MIT
"""Reads a checkpoint of any number of workers (docs/checkpoint-format.md): checks each seal and hash, and executes no code."""
import json
import re
import struct
from pathlib import Path

import numpy as np

from gangway.errors import Failed
from gangway.xxh3 import hash_of, hasher

NEWEST_FORMAT = 2
SEAL = b'"seal_xxh3_128": "'
MOST_HEADER_BYTES = 16 << 20
# {dtype in a safetensors file: (bytes of an element, torch's dtype)}
TYPES = {"F64": (8, "float64"), "F32": (4, "float32"), "F16": (2, "float16"), "BF16": (2, "bfloat16"), "I64": (8, "int64"),
         "I32": (4, "int32"), "I16": (2, "int16"), "I8": (1, "int8"), "U64": (8, "uint64"), "U32": (4, "uint32"),
         "U16": (2, "uint16"), "U8": (1, "uint8"), "BOOL": (1, "bool")}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failed(f"{path}: cannot be read: {error.strerror}", 5) from None


def _manifest_of(path: Path) -> dict:
    text = _read(path)
    try:
        manifest = json.loads(text)
        version = manifest["format_version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Failed(f"{path}: is no manifest of a checkpoint of Gangway's: damaged, or another program's", 5) from None
    if version not in range(1, NEWEST_FORMAT + 1):
        raise Failed(f"{path}: checkpoint format {version}; this reads 1 to {NEWEST_FORMAT}: update gangway", 5)
    place = text.rfind(SEAL) + len(SEAL)
    if text[place:place + 32].decode("ascii", "replace") != hash_of(text[:place] + b"0" * 32 + text[place + 32:]):
        raise Failed(f"{path}: its seal does not match its content: damaged or edited", 5)
    return manifest


class _WorkerFile:
    """Reads one safetensors file. `entries`: {tensor: (dtype, shape, begin, end)}, file offsets."""

    def __init__(self, path: Path, bytes_wanted: int):
        self.path = path
        size, start = self._bytes(0, 8)
        if size != bytes_wanted:
            word = "truncated" if size < bytes_wanted else "damaged"
            raise Failed(f"{path}: has {size} bytes, the manifest says {bytes_wanted}: {word}", 5)
        try:
            length, = struct.unpack("<Q", start)
            if length > MOST_HEADER_BYTES:
                raise ValueError
            header = json.loads(self._bytes(8, length)[1])
            header.pop("__metadata__", None)
            self.entries = {name: (entry["dtype"], entry["shape"], *(8 + length + offset for offset in entry["data_offsets"]))
                            for name, entry in header.items()}
        except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Failed(f"{path}: its header is no safetensors header: damaged", 5) from None

    def read(self, name: str) -> bytes:
        try:
            _, _, begin, end = self.entries[name]
        except (KeyError, ValueError):
            raise Failed(f"{self.path}: tensor '{name}' of the manifest is missing: damaged", 5) from None
        return self._bytes(begin, end - begin)[1]

    def _bytes(self, begin: int, count: int) -> tuple[int, bytes]:
        """Returns (size of the file, its `count` bytes from `begin`)."""
        try:
            with open(self.path, "rb") as file:
                file.seek(begin)
                return self.path.stat().st_size, file.read(count)
        except OSError as error:
            raise Failed(f"{self.path}: cannot be read: {error.strerror}", 5) from None


class Checkpoint:
    """Reads a folder step-NNNNNNNNN. Opening checks manifest and file sizes; reading, the bytes."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.manifest = _manifest_of(self.folder / "manifest.json")
        self.step: int = self.manifest["step"]
        named = re.fullmatch(r"step-(\d{9})", self.folder.name)
        if named and int(named[1]) != self.step:
            raise Failed(f"{self.folder}: its manifest is of step {self.step}: the folder was renamed", 5)
        self._files = []
        for index, file in enumerate(self.manifest["files"]):
            name = f"worker-{index:04}-of-{len(self.manifest['files']):04}.safetensors"
            if file["name"] != name:
                raise Failed(f"{self.folder}: file {index} of the manifest is '{file['name']}', not '{name}': damaged", 5)
            self._files.append(_WorkerFile(self.folder / name, file["bytes"]))
        others = {path.name for path in self.folder.glob("worker-*.safetensors")} - {file.path.name for file in self._files}
        if others:
            raise Failed(f"{self.folder / min(others)}: is not in the manifest: a file of another checkpoint", 5)
        self._tensors = {entry["name"]: entry for entry in self._entries()}

    def _entries(self) -> list[dict]:
        """Returns the manifest's tensors. Format 1 lists none: takes those of the files."""
        if self.manifest["format_version"] > 1:
            return self.manifest["tensors"]
        entries = []
        for index, file in enumerate(self._files):
            if hash_of(_read(file.path)) != self.manifest["files"][index]["xxh3_128"]:
                raise Failed(f"{file.path}: its hash is not the manifest's: damaged", 5)
            for name, (kind, shape, _, _) in file.entries.items():
                entries.append({"name": name, "dtype": kind, "shape": shape, "order": "row-major",
                                "pieces": [{"file": index, "begin": 0, "end": int(np.prod(shape, dtype=np.int64))}]})
        return entries

    @property
    def names(self) -> list[str]:
        """Returns all names, sorted: "generator/0/weight", "generator_ema/…", and so on."""
        return sorted(self._tensors)

    def _values(self, name: str) -> np.ndarray:
        """Returns the values row-major, as unsigned integers of the element's size."""
        if name not in self._tensors:
            raise Failed(f"{self.folder}: has no tensor '{name}': a checkpoint of another model?", 5)
        entry = self._tensors[name]
        shape, is_row_major = entry["shape"], entry["order"] == "row-major"
        flat = np.empty(int(np.prod(shape, dtype=np.int64)), f"<u{TYPES[entry['dtype']][0]}")
        for piece in entry["pieces"]:
            begin, end = piece["begin"], piece["end"]
            is_whole = is_row_major and end - begin == flat.size
            file = self._files[piece["file"]]
            content = file.read(name if is_whole else f"{name}@{begin}")
            if len(content) != (end - begin) * flat.itemsize or piece.get("xxh3_128", hash_of(content)) != hash_of(content):
                raise Failed(f"{file.path}: tensor '{name}': its bytes are not those of the manifest: damaged", 5)
            flat[begin:end] = np.frombuffer(content, flat.dtype)
        if is_row_major:
            return flat.reshape(shape)
        n, c, h, w = shape
        return np.ascontiguousarray(flat.reshape(n, h, w, c).transpose(0, 3, 1, 2))

    def tensor(self, name: str):
        """Returns a row-major torch tensor that owns its memory."""
        import torch
        values = self._values(name)
        kind = getattr(torch, TYPES[self._tensors[name]["dtype"]][1])
        return torch.from_numpy(values.reshape(-1).view(np.uint8)).view(kind).reshape(values.shape)

    def digest(self) -> str:
        """Returns what `gangway digest RUN@STEP` prints (checkpoint/tools/digest.cpp): XXH3-128 of numerics, step and sorted tensors."""
        state = hasher()

        def add(*parts):
            for part in parts:
                if isinstance(part, str):  # the length goes first
                    add(len(part.encode()))
                state.update(part.encode() if isinstance(part, str) else struct.pack("<Q", part))

        add("gangway-digest", 1, self.manifest["numerics"], self.step)
        for name in self.names:
            entry = self._tensors[name]
            add(name, entry["dtype"], len(entry["shape"]), *entry["shape"])
            state.update(self._values(name).tobytes())
        return state.hexdigest()
