# SPDX-License-Identifier: MIT
"""StyleGAN2: github.com/NVlabs/stylegan2-ada-pytorch (training/networks.py), and the pickles of NVlabs/stylegan2 for TensorFlow,
whose tensors first get that code's names and order of axes."""
import re

import torch

from gangway.errors import Failed
from gangway.tools.weights.files import CANNOT_BE_USED, Part
from gangway.tools.weights.source import Entry, Network, Source, both

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
    source.require_filter("resample_filter", FILTER, str(FILTER))
    for module, settings in source.settings.items():
        for name, known in OTHERS.items():
            if name in settings and settings[name] not in known:
                source.refuse(f"has {name} {settings[name]} in '{module}'; the family stylegan2 has {' or '.join(map(str, known))}")
    source.require_widths(widths, lambda side: min(widths[max(widths)] * max(widths) // side, MOST_CHANNELS))
    clamp = next((settings["conv_clamp"] for settings in source.settings.values() if settings.get("conv_clamp")), None)
    return [f"activations are not clamped at {clamp:g}, except in fp16"] if clamp else []


def _mapping(source: Source, block: int) -> tuple[list[Entry], int, int]:
    """Returns the entries of a mapping, its number of layers, and of labels."""
    classes = source.size("mapping.embed.weight", 1) if "mapping.embed.weight" in source else 0
    entries = both(f"{block}/embedding.", "mapping.embed") if classes else []
    layers = source.numbers(r"mapping\.fc(\d+)\.weight")
    for layer in layers:
        rate = source.settings.get(f"mapping.fc{layer}", {}).get("bias_gain", RATE) / RATE
        entries += both(f"{block}/layer{layer}.", f"mapping.fc{layer}", lambda values, rate=rate: values * rate)
    return entries, len(layers), classes


def _generator(source: Source) -> Network:
    sides = source.numbers(r"synthesis\.b(\d+)\.conv1\.weight")
    notes = _checked(source, {side: source.size(f"synthesis.b{side}.conv1.weight") for side in sides})
    entries, layers, classes = _mapping(source, 0)
    features = source.size("mapping.embed.weight") if classes else 0
    latent, styles = source.size("mapping.fc0.weight", 1) - features, source.size(f"mapping.fc{layers - 1}.weight")
    if latent != styles or features not in (0, latent):
        source.refuse(f"has noise of {latent} numbers, styles of {styles} and label embeddings of {features}; all are model.latent here")
    entries.append(Entry("1/constant", "synthesis.b4.const"))
    block = 2
    for side in sides:
        for layer in ("conv0", "conv1")[side == 4:]:
            theirs = f"synthesis.b{side}.{layer}"
            entries += [*both(f"{block}/factors.", f"{theirs}.affine"), *both(f"{block}/", theirs),
                        Entry(f"{block}/noise_strength", f"{theirs}.noise_strength", lambda values: values.reshape(1))]
            block += 1
        theirs = f"synthesis.b{side}.torgb"
        entries += [*both(f"{block}/factors.", f"{theirs}.affine"), *both(f"{block}/", theirs)]
        block += 1
    notes += ["its constant noise is another than Gangway's, so fine details of a seed's picture differ"] * any(
        bool(source.tensors[entry.theirs].any()) for entry in entries if entry.theirs in source and entry.theirs.endswith("noise_strength"))
    source.drop(r".*\.noise_const|mapping\.w_avg")
    keys = {"model.family": "stylegan2", "model.resolution": sides[-1], "model.latent": latent, "model.mapping_layers": layers,
            "model.width": source.size(f"synthesis.b{sides[-1]}.conv1.weight"), "model.classes": classes,
            "model.channels": source.size("synthesis.b4.torgb.weight")}
    return Network("G", "stylegan2-ada-paper256" if layers > 2 else "stylegan2-ada-auto", keys, entries, source, notes)


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
    mapping, layers, classes = _mapping(source, len(sides) + 2)
    keys = {"model.family": "stylegan2", "model.resolution": sides[0], "model.width": source.size(f"b{sides[0]}.conv0.weight"),
            "model.channels": source.size(f"b{sides[0]}.fromrgb.weight", 1), "model.classes": classes,
            "model.deviation_group": group, "model.discriminator_residual": is_residual,
            **({"model.discriminator_mapping_layers": layers} if layers else {})}
    return Network("D", "", keys, entries + mapping, source, notes)


# {layer in TensorFlow: in PyTorch}, with its side as {side}
LAYERS = {"synthesis/SIDE/Conv": "synthesis.b{side}.conv1", "synthesis/SIDE/Conv0_up": "synthesis.b{side}.conv0",
          "synthesis/SIDE/Conv1": "synthesis.b{side}.conv1", "synthesis/SIDE/ToRGB": "synthesis.b{side}.torgb",
          "synthesis/SIDE/Const": "synthesis.b{side}", "mapping/LabelEmbed": "mapping.embed", "SIDE/FromRGB": "b{side}.fromrgb",
          "SIDE/Conv0": "b{side}.conv0", "SIDE/Conv1_down": "b{side}.conv1", "SIDE/Skip": "b{side}.skip", "SIDE/Conv": "b{side}.conv",
          "SIDE/Dense0": "b{side}.fc", "Output": "b4.out", "LabelEmbed": "mapping.embed"}
OPTIONS = {"nonlinearity": ["lrelu"], "mapping_nonlinearity": ["lrelu"], "resample_kernel": [FILTER]}
NOT_NEEDED = r"lod|dlatent_avg|synthesis/noise\d+"


def _variables(settings: dict, before: str = "") -> dict:
    """Returns {name: tensor} of a network for TensorFlow and of its components."""
    found = {before + name: torch.tensor(getattr(array, "values", array)) for name, array in settings["variables"]}
    for name, component in settings.get("components", {}).items():
        found |= _variables(vars(component), f"{before}{name}/")
    return found


def _moved(values: torch.Tensor, name: str) -> torch.Tensor:
    """Returns a tensor of TensorFlow's in PyTorch's order of axes."""
    if values.dim() == 4 and not name.endswith("/const"):  # [height, width, in, out]; where it doubles, TensorFlow's code flips it
        return (values.flip(0, 1) if name.endswith("Conv0_up/weight") else values).permute(3, 2, 0, 1)
    return values[0] if values.dim() == 4 else values.t() if values.dim() == 2 else values + 1 if name.endswith("mod_bias") else values


def of_tensorflow(part: Part) -> Part:
    """Returns the part under the names of StyleGAN2-ADA's PyTorch code. Raises Failed for other networks of that program."""
    options, is_generator = part.settings.get("static_kwargs", {}), part.role[:1] == "G"
    for name, known in {**OPTIONS, "architecture": ["skip"] if is_generator else ["resnet", "orig"]}.items():
        if name in options and options[name] not in known:
            raise Failed(f"{part.file}: {part.role} has {name} {options[name]}; the family stylegan2 has {known[0]}", CANNOT_BE_USED)
    tensors = {}
    for name, values in _variables(part.settings).items():
        layer, _, end = name.rpartition("/")
        side = next(iter(re.findall(r"(\d+)x\1(?=/)", layer)), "")
        place = LAYERS.get(layer.replace(f"{side}x{side}/", "SIDE/"), layer).format(side=side)
        place = re.sub(r"(mapping/Dense|Mapping)(\d+)", r"mapping.fc\2", place) + ".affine" * end.startswith("mod_")
        if not re.fullmatch(NOT_NEEDED, name):
            tensors[f"{place}.{end.removeprefix('mod_')}"] = _moved(values, name)
    rate = options.get("mapping_lrmul", RATE if is_generator else 0.1)
    settings = {f"mapping.fc{layer}": {"bias_gain": rate} for layer in range(options.get("mapping_layers", 8))}
    settings["b4.mbstd"] = {"group_size": options.get("mbstd_group_size", 4)}
    return Part(part.role, tensors, settings, [], part.file)
