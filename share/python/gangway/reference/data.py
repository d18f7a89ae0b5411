# SPDX-License-Identifier: MIT
"""Reads a micro-batch's real examples, which a keyed permutation of each data pass chooses."""
import gzip
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import torch

from gangway import examples
from gangway.errors import Failed
from gangway.reference import load, philox
from gangway.reference.philox import Keyed
from gangway.reference.pictures import Chance
from gangway.xxh3 import short_hash_of

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"  # where Debian puts them
ROUNDS = 6


def permuted(places: np.ndarray, seed: int, data_pass: int, size: int) -> np.ndarray:
    """Returns the example of each place in a data pass: a Feistel network of Philox (Luby, Rackoff, 1988), walked into [0, size)."""
    random = Keyed(seed, step=data_pass, phase=philox.DATA, draw=philox.PERMUTATION)
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)

    def encrypted(value):
        left, right = value >> half, value & mask
        for number in range(ROUNDS):
            left, right = right, left ^ (random.bits((np.uint64(number) << np.uint64(32)) | right) & mask)
        return left << half | right

    value = encrypted(places.astype(np.uint64))
    while (outside := value >= size).any():
        value[outside] = encrypted(value[outside])
    return value.astype(np.int64)


class Toy:
    """Draws points around centres, by index (Metz et al., 2017; Gulrajani et al., 2017)."""

    size = 1_000_000  # points of a data pass

    def __init__(self, name: str, seed: int):
        self._seed = seed
        if name == "ring8":
            sine, cosine = philox.sincos_of_turn(np.arange(8) / 8.0)
            centres, self._sigma = np.stack([2 * cosine / 1.414, 2 * sine / 1.414], 1), np.float32(0.02 / 1.414)
        else:
            centres = np.array([(2 * column / 2.828, 2 * row / 2.828) for column in range(-2, 3) for row in range(-2, 3)])
            self._sigma = np.float32(0.05 / 2.828)
        self._centres = centres.astype(np.float32)

    def read(self, index: np.ndarray):
        random = Keyed(self._seed, step=index, phase=philox.DATA, draw=philox.TOY)
        mode = random.below(np.zeros_like(index), len(self._centres)).astype(np.int64)
        return self._centres[mode] + self._sigma * random.normals_of_block(1)[:, :2], mode


def _read_idx(path: Path, axes: int) -> np.ndarray:
    """Reads LeCun's format: bytes 0, 0, 8 (uint8), the number of axes, their sizes, big-endian."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            content = file.read()
        if content[:4] == bytes([0, 0, 8, axes]):
            return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(struct.unpack_from(f">{axes}I", content, 4))
    except (OSError, EOFError, ValueError, struct.error, zlib.error):  # it is cut off, or of another kind
        pass
    raise Failed(f"{path}: is no IDX file of bytes with {axes} axes")


def _plain_or_compressed(path: Path) -> Path | None:
    return next((one for one in (path, Path(f"{path}.gz")) if one.exists()), None)


class Idx:
    """Reads grey images as they are, or with a black border up to the next power of two."""

    def __init__(self, location: Path, side: int, channels: int):
        images = location
        if location.is_dir():
            found = [path for path in location.iterdir() if path.name.removesuffix(".gz").endswith("idx3-ubyte")]
            images = _plain_or_compressed(location / "train-images-idx3-ubyte") or (found[0] if len(found) == 1 else None)
        if images is None or not images.exists():
            raise Failed(f"{location}: the run's data are not there")
        self._images = _read_idx(images, 3)
        name = images.name.removesuffix(".gz").replace("images", "labels").replace("idx3", "idx1")
        labels = _plain_or_compressed(images.with_name(name)) if name != images.name.removesuffix(".gz") else None
        self._labels = _read_idx(labels, 1).astype(np.int64) if labels else np.zeros(len(self._images), np.int64)
        self.size, height, width = self._images.shape
        bordered = 1 << (height - 1).bit_length()
        if height != width or side not in (height, bordered):
            raise Failed(f"data.source: images of {width} x {height} that are resampled to {side} pixels are not replayed")
        before = (side - height) // 2
        self._border = (before, side - height - before)
        self._channels = channels

    def read(self, index: np.ndarray):
        pixels = np.pad(self._images[index], ((0, 0), self._border, self._border))
        return _to_unit(np.repeat(pixels[:, None], self._channels, 1)), self._labels[index]


class Pack:
    """Reads pictures that `gangway data pack` decoded and resized, by their original numbers."""

    def __init__(self, folder: Path, side: int, channels: int):
        try:
            pack = json.loads((folder / "pack.json").read_text())
            self._index = np.fromfile(folder / "index.bin", [("hash", "<u8"), ("label", "<i8")])
            self._shards = [np.memmap(folder / shard["file"], np.uint8, "r").reshape(-1, side, side, pack["channels"])
                            for shard in pack["shards"]]
        except (OSError, ValueError, KeyError) as error:
            raise Failed(f"{folder}: is no pack of pictures of {side} pixels: {error}") from None
        self._folder, self._channels, self.size = folder, channels, len(self._index)

    def read(self, index: np.ndarray):
        shard, place = index // len(self._shards[0]), index % len(self._shards[0])
        pictures = np.stack([self._shards[one][at] for one, at in zip(shard, place)])
        for number, picture in zip(index, pictures):
            if short_hash_of(picture.tobytes()) != self._index["hash"][number]:
                raise Failed(f"{self._folder}: picture {number} of it (counted from 0) is not what was packed")
        if self._channels == 1 and pictures.shape[-1] == 3:  # by the luma of ITU-R BT.601
            weighted = pictures.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32)
            pictures = ((weighted + 0x8000) >> 16)[..., None]
        pictures = np.broadcast_to(pictures, (*pictures.shape[:-1], self._channels))
        return _to_unit(pictures.transpose(0, 3, 1, 2)), self._index["label"][index]


class Own:
    """Reads examples of the user's Python (docs/python.md) in this process. As data/own/."""

    def __init__(self, run: Path, job: dict, trusts: bool):
        call, find, arguments = load.class_of(run, job["data"]["source"], job["data"]["source_hash"], trusts)
        self._seed, model = job["training"]["seed"], job["model"]
        self._picture = (2,) if model["family"] in ("mlp",) else (model["channels"], model["resolution"], model["resolution"])
        try:
            found = find()
            examples.seed_all(self._seed)
            self._data = found(**arguments)
        except Exception as error:  # any exception of the user's code
            raise Failed(f"data.source: {call}: {type(error).__name__}: {error}".splitlines()[0]) from None
        self.size = len(self._data)

    def read(self, index: np.ndarray, cursor: np.ndarray | None = None):
        """Returns (pictures, labels) or (tensors by name, None). `cursor` None: seeds by index."""
        random = Keyed(self._seed, step=index if cursor is None else cursor, phase=philox.DATA, block=int(cursor is None),
                       draw=philox.EXAMPLE)
        seeds = [int(one) for one in random.bits(0)]
        batch = {name: torch.as_tensor(value) for name, value in examples.batch_of(self._data, [int(one) for one in index], seeds).items()}
        image, labels = batch.get("image"), batch.get("label")
        is_picture = (not hasattr(self._data, "collate") and set(batch) <= {"image", "label"} and image is not None
                      and tuple(image.shape[1:]) == self._picture and image.dtype in (torch.float32, torch.uint8)
                      and (labels is None or labels.dtype == torch.int64 and labels.dim() == 1))
        if not is_picture:
            return batch, None
        image = _to_unit(image.numpy()) if image.dtype == torch.uint8 else image.numpy()
        return image, np.zeros(len(index), np.int64) if labels is None else labels.numpy()


def _to_unit(pixels: np.ndarray) -> np.ndarray:
    """Maps 0 … 255 to float32 in [-1, 1]."""
    return pixels.astype(np.float32) / np.float32(127.5) - np.float32(1)


def _source(job: dict, pack):
    source, model = job["data"]["source"], job["model"]
    if source.startswith("toy:"):
        return Toy(source.removeprefix("toy:"), job["training"]["seed"])
    kind, _, place = source.partition(":")
    if pack or kind == "pack":
        return Pack(Path(pack or place), model["resolution"], model["channels"])
    if source == "fashion-mnist" or kind == "idx":
        return Idx(Path(place or FASHION_MNIST), model["resolution"], model["channels"])
    raise Failed(f"data.source: {source} is not replayed; fashion-mnist, idx:, pack:, toy:ring8 and toy:grid25 are, and images: with "
                 "--pack FOLDER, which `gangway data pack` has made of them")


class Reals:
    """Reads a job's examples. @param pack  folder of decoded pictures @param own  Python data"""

    def __init__(self, job: dict, pack=None, own: Own | None = None):
        self.source = own or _source(job, pack)
        self._size = job["data"].get("limit", 0) or self.source.size
        self._seed = job["training"]["seed"]
        self._chance = Chance(job["data"], self._seed)
        self._batch, self._count = job["training"]["batch"], job["training"]["batch"] // job["training"]["microbatches"]

    def __len__(self):
        return self._size

    def read(self, batch: int, microbatch: int):
        """Returns the training's batch `batch`: (float32 [N, …], labels int64 [N]), or Own's."""
        cursor = batch * self._batch + microbatch * self._count + np.arange(self._count)
        index = np.concatenate([permuted(cursor[cursor // self._size == one] % self._size, self._seed, int(one), self._size)
                                for one in np.unique(cursor // self._size)])
        found, labels = self.source.read(index, *([cursor] if isinstance(self.source, Own) else []))
        if labels is None:
            return found, None
        found = self._chance.applied(found, cursor)
        return philox.shaped(found, found.shape), philox.shaped(labels, labels.shape)
