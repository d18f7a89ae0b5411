# SPDX-License-Identifier: MIT
"""StyleGAN2: github.com/NVlabs/stylegan2-ada-pytorch (training/networks.py), and the pickles of NVlabs/stylegan2 for TensorFlow,
whose tensors first get that code's names and order of axes."""
import math
from typing import Callable

import torch

from gangway.errors import Failed
from gangway.tools.weights.files import CANNOT_BE_USED, Part
from gangway.tools.weights.source import Entry, Network, Source, both, flat

MOST_CHANNELS = 512  # job/families/stylegan2.cpp
RATE = 0.01          # of a mapping's layers (kStyleRate)
FILTER = [1, 3, 3, 1]
OTHERS = {"activation": ("lrelu", "linear"), "architecture": ("skip", "resnet", "orig"), "num_channels": (1,)}


def recognised(part: Part) -> Network | None:
    if "variables" in part.settings:
        part = of_tensorflow(part)
    source = Source(part)
    if "synthesis.b4.const" in source:
        return _generator(source)
    return _discriminator(source) if "b4.out.weight" in source else None


def _checked(source: Source, widths: dict) -> list[str]:
    """Returns notes. Raises Failed for what the family cannot express. @param widths  channels by side"""
    for name, values in source.tensors.items():
        if name.endswith("resample_filter"):
            line = values.sum(0) / values.sum()
            if line.shape != (4,) or [round(float(value) * sum(FILTER), 4) for value in line] != FILTER:
                source.refuse(f"resamples by another filter than [1, 3, 3, 1] ('{name}')")
    for module, settings in source.settings.items():
        for name, known in OTHERS.items():
            if name in settings and settings[name] not in known:
                source.refuse(f"has {name} {settings[name]} in '{module}'; the family stylegan2 has {' or '.join(map(str, known))}")
    source.without(r"(.*\.)?resample_filter")
    for side, channels in widths.items():
        if channels != (expected := min(widths[max(widths)] * max(widths) // side, MOST_CHANNELS)):
            source.refuse(f"has {channels} channels at {side} pixels, where the family stylegan2 has {expected}")
    clamp = next((settings["conv_clamp"] for settings in source.settings.values() if settings.get("conv_clamp")), None)
    return [f"activations are not clamped at {clamp:g}, except in fp16"] if clamp else []


def _mapping(source: Source, block: int) -> tuple[list[Entry], int]:
    """Returns the entries of a mapping, and its number of layers."""
    entries = both(f"{block}/embedding.", "mapping.embed") if "mapping.embed.weight" in source else []
    layers = source.numbers(r"mapping\.fc(\d+)\.weight")
    for layer in layers:
        rate = source.settings.get(f"mapping.fc{layer}", {}).get("bias_gain", RATE) / RATE
        entries += both(f"{block}/layer{layer}.", f"mapping.fc{layer}", lambda values, rate=rate: values * rate)
    return entries, len(layers)


def _generator(source: Source) -> Network:
    sides = source.numbers(r"synthesis\.b(\d+)\.conv1\.weight")
    notes = _checked(source, {side: source.size(f"synthesis.b{side}.conv1.weight") for side in sides})
    entries, layers = _mapping(source, 0)
    features = source.size("mapping.embed.weight") if "mapping.embed.weight" in source else 0
    latent, styles = source.size("mapping.fc0.weight", 1) - features, source.size(f"mapping.fc{layers - 1}.weight")
    if latent != styles or features not in (0, latent):
        source.refuse(f"has noise of {latent} numbers, styles of {styles} and label embeddings of {features}; all are model.latent here")
    entries.append(Entry("1/constant", "synthesis.b4.const"))
    block = 2
    for side in sides:
        for layer in ("conv0", "conv1")[side == 4:]:
            theirs = f"synthesis.b{side}.{layer}"
            entries += [*both(f"{block}/factors.", f"{theirs}.affine"), *both(f"{block}/", theirs),
                        Entry(f"{block}/noise_strength", f"{theirs}.noise_strength", flat)]
            block += 1
        theirs = f"synthesis.b{side}.torgb"
        entries += [*both(f"{block}/factors.", f"{theirs}.affine"), *both(f"{block}/", theirs)]
        block += 1
    notes += ["its constant noise is another than Gangway's, so fine details of a seed's picture differ"] * any(
        bool(source.tensors[entry.theirs].any()) for entry in entries if entry.theirs in source and entry.theirs.endswith("noise_strength"))
    source.without(r".*\.noise_const|mapping\.w_avg")
    keys = {"model.family": "stylegan2", "model.resolution": sides[-1], "model.latent": latent, "model.mapping_layers": layers,
            "model.width": source.size(f"synthesis.b{sides[-1]}.conv1.weight"), "model.classes": _classes(source),
            "model.channels": source.size("synthesis.b4.torgb.weight")}
    return Network("G", "stylegan2-ada-paper256" if layers > 2 else "stylegan2-ada-auto", keys, entries, source, notes)


def _classes(source: Source) -> int:
    return source.size("mapping.embed.weight", 1) if "mapping.embed.weight" in source else 0


def _discriminator(source: Source) -> Network:
    sides = source.numbers(r"b(\d+)\.conv0\.weight")[::-1]
    notes = _checked(source, {**{side: source.size(f"b{side}.conv0.weight") for side in sides}, 4: source.size("b4.fc.weight")})
    if source.size("b4.conv.weight", 1) != source.size("b4.conv.weight") + 1:
        source.refuse("compares examples in another number of maps than 1 (mbstd_num_channels)")
    is_residual, group = f"b{sides[0]}.skip.weight" in source, source.settings.get("b4.mbstd", {}).get("group_size", 4)
    if not isinstance(group, int):
        source.refuse("compares all examples of a batch (mbstd_group_size None), and the family stylegan2 groups of a number")
    entries = both("0/", f"b{sides[0]}.fromrgb")
    for block, side in enumerate(sides, 1):
        entries += [*both(f"{block}/first.", f"b{side}.conv0"), *both(f"{block}/second.", f"b{side}.conv1"),
                    *([Entry(f"{block}/skip.weight", f"b{side}.skip.weight")] if is_residual else [])]
    for ours, theirs in (("convolution", "conv"), ("dense", "fc"), ("head", "out")):
        entries += both(f"{len(sides) + 1}/{ours}.", f"b4.{theirs}")
    mapping, layers = _mapping(source, len(sides) + 2)
    keys = {"model.family": "stylegan2", "model.resolution": sides[0], "model.width": source.size(f"b{sides[0]}.conv0.weight"),
            "model.channels": source.size(f"b{sides[0]}.fromrgb.weight", 1), "model.classes": _classes(source),
            "model.deviation_group": group, "model.discriminator_residual": is_residual,
            **({"model.discriminator_mapping_layers": layers} if layers else {})}
    return Network("D", "", keys, entries + mapping, source, notes)


def _as_convolution(values):
    return values.permute(3, 2, 0, 1)


def _flipped(values):
    return values.flip(0, 1).permute(3, 2, 0, 1)


def _transposed(values):
    return values.t()


def _variables(settings: dict, before: str = "") -> dict:
    """Returns {name: tensor} of a network for TensorFlow and of its components."""
    found = {before + name: torch.from_numpy(array.values.copy()) if hasattr(array, "values") else torch.tensor(array)
             for name, array in settings["variables"]}
    for name, component in settings.get("components", {}).items():
        found |= _variables(vars(component), f"{before}{name}/")
    return found


# {end of a name: (its new end, change)}: of convolutions' factors, and of all layers.
FACTORS: dict[str, tuple[str, Callable]] = {"/mod_weight": (".affine.weight", _transposed), "/mod_bias": (".affine.bias", lambda values: values + 1)}


def of_tensorflow(part: Part) -> Part:
    """Returns the part under the names of StyleGAN2-ADA's PyTorch code. Raises Failed for other networks of that program."""
    given, options = _variables(part.settings), part.settings.get("static_kwargs", {})
    for name, known in (("nonlinearity", "lrelu"), ("mapping_nonlinearity", "lrelu"), ("resample_kernel", FILTER), ("fused_modconv", None),
                        ("architecture", "skip" if part.role[:1] == "G" else None)):
        if known is not None and options.get(name, known) != known:
            raise Failed(f"{part.file}: {part.role} has {name} {options[name]}; the family stylegan2 has {known}", CANNOT_BE_USED)
    tensors, settings = {}, {}
    for name, values in given.items():
        if found := _place(name):
            place, change = found
            tensors[place] = change(values)
    rate = options.get("mapping_lrmul", RATE if part.role[:1] == "G" else 0.1)
    settings |= {f"mapping.fc{layer}": {"bias_gain": rate} for layer in range(64)}
    settings["b4.mbstd"] = {"group_size": options.get("mbstd_group_size", 4)}
    return Part(part.role, tensors, settings, [], part.file)


def _place(name: str) -> tuple[str, Callable] | None:
    """Returns the name in PyTorch and the change of a tensor of TensorFlow's; None: it is not needed."""
    head, _, end = name.rpartition("/")
    path = head.split("/")
    is_generator = path[0] in ("mapping", "synthesis")
    if is_generator:
        path = path[1:]
    if not path or path == [""] or end in ("lod", "dlatent_avg") or end.startswith("noise") and end != "noise_strength":
        return None
    last, place = path[-1], ""
    side = path[0].partition("x")[0] if path[0].split("x")[0].isdigit() else ""
    if last == "LabelEmbed":
        place = "mapping.embed"
    elif name.startswith("mapping/Dense") or last.startswith("Mapping"):
        place = "mapping.fc" + last.removeprefix("Dense").removeprefix("Mapping")
    elif last == "Output":
        place = "b4.out"
    elif last == "Dense0" and side == "4":
        place = "b4.fc"
    elif last == "Const":
        return "synthesis.b4.const", lambda values: values[0]
    elif is_generator and side:
        place = f"synthesis.b{side}." + {"Conv": "conv1", "Conv0_up": "conv0", "Conv1": "conv1", "ToRGB": "torgb", "Skip": "skip"}.get(last, last)
    elif side:
        place = f"b{side}." + {"Conv": "conv", "Conv0": "conv0", "Conv1_down": "conv1", "FromRGB": "fromrgb", "Skip": "skip"}.get(last, last)
    else:
        place = ".".join(path)
    if found := FACTORS.get(f"/{end}"):
        return place + found[0], found[1]
    if end != "weight":
        return f"{place}.{end}", lambda values: values
    is_dense = place.startswith("mapping.") or place in ("b4.fc", "b4.out")
    return f"{place}.weight", _transposed if is_dense else _flipped if last == "Conv0_up" else _as_convolution
