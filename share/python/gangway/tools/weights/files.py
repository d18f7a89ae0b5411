# SPDX-License-Identifier: MIT
"""Reads weights: pickles, files of torch.save, safetensors. No code of a file runs: objects become stand-ins, other names are refused."""
import io
import math
import pickle
import re
import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from gangway.errors import UNUSABLE, Failed
from gangway.tools.weights.source import Source

REFUSAL = "names {}, which is no part of weights: such a file may run any program, and nothing of it was used"
ZIP, OLD_TORCH, PICKLE = b"PK\x03\x04", b"\x80\x02\x8a\x0a", b"\x80"
SAFETENSORS = re.compile(rb".{5}\0{3}\{", re.DOTALL)  # the header's length, then JSON
# Classes of these modules become stand-ins.
OWN_MODULES = re.compile(r"torch\.nn\.modules\.\w+|training\.\w+|R3GAN\.\w+|dnnlib\.tflib\.network")
ROLE = re.compile(r"(?:^|[_./-])(?:(G|generator|D|discriminator)(?:_(A|B))?(_ema|_optim|_opt_state)?)(?=$|[_./-])")
MOST = 100_000  # parts of a file: a few bytes, which name one part again and again, stand for more
ROLES = {"generator": "G", "discriminator": "D", "_opt_state": "_optim"}


class _Stand:
    """Stands in for an object of the file's program, with its attributes."""
    def __new__(cls, *_):
        return super().__new__(cls)

    def __setstate__(self, state):
        self.__dict__.update(state)


class _Persistent(_Stand):
    def __init__(self, meta):
        self.__setstate__(meta["state"])


class _Dtype(_Stand):
    def __init__(self, text, *_):
        self.text, self.order = text, "="

    def __setstate__(self, state):
        self.order = state[1].replace("|", "=")

    def array(self, content) -> np.ndarray:
        if not re.fullmatch("[fiub][1248]", self.text):
            raise ValueError(f"numbers of type {self.text!r}")
        return np.frombuffer(content.encode("latin1") if isinstance(content, str) else content, self.order + self.text)


class _Array(_Stand):
    def __setstate__(self, state):
        _, shape, dtype, is_fortran, content = state
        self.values = dtype.array(content).reshape(shape, order="F" if is_fortran else "C")


def _tensor(storage, offset, size, stride, *_):
    flat = torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage)
    last = offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    if min([offset, *size, *stride]) < 0 or (0 not in size and last >= flat.numel()) or math.prod(size) > flat.numel():
        raise ValueError("a tensor that is larger than its storage")
    return flat.as_strided(size, stride, offset).clone()


MADE = {("collections", "OrderedDict"): OrderedDict, ("dnnlib.util", "EasyDict"): type("EasyDict", (dict,), {}), ("torch", "Size"): tuple,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor, ("torch._utils", "_rebuild_parameter"): lambda values, *_: values,
        ("torch.storage", "_load_from_bytes"): lambda content: torch.load(io.BytesIO(content), map_location="cpu", weights_only=True),
        ("torch_utils.persistence", "_reconstruct_persistent_obj"): _Persistent, ("copyreg", "_reconstructor"): lambda kind, *_: kind.__new__(kind),
        ("numpy", "ndarray"): _Array, ("numpy", "dtype"): _Dtype, ("_codecs", "encode"): lambda text, _: text.encode("latin1"),
        **{(f"numpy.{core}.multiarray", name): made for core in ("core", "_core")
           for name, made in (("_reconstruct", lambda kind, *_: kind.__new__(kind)), ("scalar", lambda dtype, content: dtype.array(content)[0].item()))}}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if found := MADE.get((module, name)):
            return found
        if module == "torch" and isinstance(kind := getattr(torch, name, None), torch.dtype):
            return kind
        if (module, name) == ("builtins", "object") or (OWN_MODULES.fullmatch(module) and re.fullmatch(r"\w+", name)):
            return type(name, (_Stand,), {})
        raise Failed(REFUSAL.format(f"{module}.{name}"), UNUSABLE)


def _content(path: Path):
    if path.exists() and not path.is_file():
        raise Failed("is no regular file", UNUSABLE)
    with path.open("rb") as file:
        start = file.read(9)
        file.seek(0)
        if SAFETENSORS.match(start):  # first, because a header's length may begin with the byte of a pickle
            return load_file(path)
        if start.startswith((ZIP, OLD_TORCH)):
            with warnings.catch_warnings(action="ignore"):  # as of another pickle_protocol
                return torch.load(file, map_location="cpu", weights_only=True)
        if start.startswith(PICKLE):
            return _Unpickler(file, encoding="latin1").load()
    raise Failed("is no pickle, no file of torch.save and no safetensors" if start else "is empty", UNUSABLE)


def role_of(name: str) -> str:
    """Returns "G_ema" for "G_ema_best0" and "generator_ema", "D_A" for "latest_net_D_A", "" for "network"."""
    if not (found := list(ROLE.finditer(name))):
        return ""
    base, side, kind = found[-1].groups()
    return ROLES.get(base, base) + (f"_{side}" if side else "") + ROLES.get(kind, kind or "")


def _add(source: Source, module: _Stand, before: str = "") -> Source:
    """Adds the tensors and attributes of a module and of those in it."""
    inside = vars(module)
    if len(source.settings) > MOST:
        raise ValueError(f"more than {MOST} modules")
    source.settings[before.rstrip(".")] = {name: value for name, value in inside.items() if not name.startswith("_")}
    for kind in ("_parameters", "_buffers"):
        found = {before + name: values for name, values in inside.get(kind, {}).items() if isinstance(values, torch.Tensor)}
        source.tensors.update(found)
        source.parameters.extend(found if kind == "_parameters" else [])
    for name, child in inside.get("_modules", {}).items():
        _add(source, child, f"{before}{name}.") if child is not None else None
    return source


def _sources(found, role: str, file: str, seen: list) -> list[Source]:
    seen.append(found)
    if len(seen) > MOST:
        raise ValueError(f"more than {MOST} parts")
    if isinstance(found, (tuple, list)) and len(found) == 3:  # StyleGAN2's for TensorFlow
        found = dict(zip(("G", "D", "G_ema"), found))
    if isinstance(found, _Stand):
        return [Source(role, {}, vars(found), [], file) if "variables" in vars(found) else _add(Source(role, {}, {}, [], file), found)]
    if not isinstance(found, dict):
        return []
    if {"state", "param_groups"} <= found.keys():
        return [Source(role, found, {}, [], file)]
    tensors = {str(name).removeprefix("module."): values for name, values in found.items() if isinstance(values, torch.Tensor)}
    if not tensors:
        named = {name: value for name, value in found.items() if role_of(str(name))} or found  # leaves an augment_pipe out
        return [part for name, value in named.items() for part in _sources(value, role_of(str(name)), file, seen)]
    starts = sorted({name.partition(".")[0] for name in tensors})
    if all(role_of(start) == start or start in ("generator", "discriminator") for start in starts):  # "G_ema.mapping..."
        nested = {start: {name.partition(".")[2]: tensors[name] for name in tensors if name.startswith(f"{start}.")} for start in starts}
        return _sources(nested, role, file, seen)
    return [Source(role, tensors, {}, [], file)]


def sources_of(path: Path) -> list[Source]:
    """Returns the networks and optimisers of a file. Raises Failed, one line, exit code 5 for a bad file."""
    try:
        found = _sources(_content(path), role_of(path.name), str(path), [])
    except OSError as error:
        raise Failed(f"{path}: cannot be read: {error.strerror}") from None
    except Failed as error:
        raise Failed(f"{path}: {error.line}", error.code) from None
    except Exception as error:  # a damaged file may raise anything
        if named := re.search(r"GLOBAL (\S+)", str(error)):  # torch.load's refusal
            raise Failed(f"{path}: {REFUSAL.format(named[1])}; of a whole module save its state_dict()", UNUSABLE) from None
        cause = re.search(r"WeightsUnpickler error:\s*(.+)", str(error))  # behind torch's advice to run the file's code
        why = cause[1] if cause else next(iter(str(error).splitlines()), "") or type(error).__name__
        raise Failed(f"{path}: is damaged, or of another program: {why}", UNUSABLE) from None
    if not found:
        raise Failed(f"{path}: has no networks: expected a pickle of StyleGAN2 or R3GAN, or a state_dict", UNUSABLE)
    return found
