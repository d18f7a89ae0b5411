# SPDX-License-Identifier: MIT
"""StyleGAN2: github.com/NVlabs/stylegan2-ada-pytorch (training/networks.py), and the pickles of NVlabs/stylegan2 for TensorFlow,
whose tensors first get that code's names and order of axes."""
import re

import torch

from gangway.tools.weights.source import Entry, Network, Source, both

MOST_CHANNELS = 512  # job/families/stylegan2.cpp
RATE = 0.01          # of a mapping's layers (kStyleRate)
FILTER = [1, 3, 3, 1]
# {setting of a module: the values that the family stylegan2 has}
OTHERS = {"activation": ("lrelu", "linear"), "architecture": ("skip", "resnet", "orig"), "num_channels": (1,), "resample_kernel": (FILTER,)}


def recognised(source: Source) -> Network | None:
    if "variables" in source.settings:
        source = of_tensorflow(source)
    if "synthesis.b4.const" in source.tensors:
        return _generator(source)
    return _discriminator(source) if "b4.out.weight" in source.tensors else None


def _keys(source: Source, widths: dict, picture: str, axis: int) -> tuple[dict, list[str]]:
    """Returns keys of the job, and notes. @param widths  channels by side; picture, axis: where a tensor has the pictures' channels"""
    source.require_filter("resample_filter", FILTER, str(FILTER))
    for module, settings in source.settings.items():
        for name, known in OTHERS.items():
            if name in settings and settings[name] not in known:
                source.refuse(f"has {name} {settings[name]} in '{module}'; the family stylegan2 has {' or '.join(map(str, known))}")
    source.require_widths(widths, lambda side: min(widths[max(widths)] * max(widths) // side, MOST_CHANNELS))
    clamp = next((settings["conv_clamp"] for settings in source.settings.values() if settings.get("conv_clamp")), None)
    keys = {"model.family": "stylegan2", "model.resolution": max(widths), "model.width": widths[max(widths)],
            "model.channels": source.size(picture, axis)}
    return keys, [f"activations are not clamped at {clamp:g}, except in fp16"] if clamp else []


def _mapping(source: Source, block: int) -> tuple[list[Entry], int, int]:
    """Returns the entries of a mapping, its number of layers, and of labels."""
    classes = source.size("mapping.embed.weight", 1) if "mapping.embed.weight" in source.tensors else 0
    entries = both(f"{block}/embedding.", "mapping.embed") if classes else []
    layers = source.numbers(r"mapping\.fc(\d+)\.weight")
    for layer in layers:
        rate = source.settings.get(f"mapping.fc{layer}", {}).get("bias_gain", RATE) / RATE
        entries += both(f"{block}/layer{layer}.", f"mapping.fc{layer}", lambda values, rate=rate: values * rate)
    return entries, len(layers), classes


def _generator(source: Source) -> Network:
    widths = {side: source.size(f"synthesis.b{side}.conv1.weight") for side in source.numbers(r"synthesis\.b(\d+)\.conv1\.weight")}
    keys, notes = _keys(source, widths, "synthesis.b4.torgb.weight", 0)
    entries, layers, classes = _mapping(source, 0)
    features = source.size("mapping.embed.weight") if classes else 0
    latent, styles = source.size("mapping.fc0.weight", 1) - features, source.size(f"mapping.fc{layers - 1}.weight")
    if latent != styles or features not in (0, latent):
        source.refuse(f"has noise of {latent} numbers, styles of {styles} and label embeddings of {features}; all are model.latent here")
    entries.append(Entry("1/constant", "synthesis.b4.const"))
    places = [f"synthesis.b{side}.{layer}" for side in widths for layer in ("conv0", "conv1", "torgb")[side == 4:]]
    has_noise = "synthesis.b4.conv1.noise_const" in source.tensors
    for block, place in enumerate(places, 2):
        entries += both(f"{block}/factors.", f"{place}.affine") + both(f"{block}/", place)
        if not place.endswith("torgb"):
            entries.append(Entry(f"{block}/noise_strength", f"{place}.noise_strength", lambda values: values.reshape(1)))
            entries += [Entry(f"{block}/noise", f"{place}.noise_const", torch.flatten)] * has_noise
    source.drop(r"mapping\.w_avg")
    keys |= {"model.latent": latent, "model.mapping_layers": layers, "model.classes": classes, "model.stored_noise": has_noise}
    return Network("G", "stylegan2-ada-paper256" if layers > 2 else "stylegan2-ada-auto", keys, entries, source, notes)


def _discriminator(source: Source) -> Network:
    sides = source.numbers(r"b(\d+)\.conv0\.weight")[::-1]
    widths = {**{side: source.size(f"b{side}.conv0.weight") for side in sides}, 4: source.size("b4.fc.weight")}
    keys, notes = _keys(source, widths, f"b{max(widths)}.fromrgb.weight", 1)
    if source.size("b4.conv.weight", 1) != source.size("b4.conv.weight") + 1:
        source.refuse("compares examples in another number of maps than 1 (mbstd_num_channels)")
    is_residual, group = f"b{sides[0]}.skip.weight" in source.tensors, source.settings.get("b4.mbstd", {}).get("group_size", 4)
    if not isinstance(group, int):
        source.refuse("compares all examples of a batch (mbstd_group_size None), and the family stylegan2 groups of a number")
    entries = both("0/", f"b{sides[0]}.fromrgb")
    for block, side in enumerate(sides, 1):
        entries += both(f"{block}/first.", f"b{side}.conv0") + both(f"{block}/second.", f"b{side}.conv1")
        entries += both(f"{block}/skip.", f"b{side}.skip", names=["weight"] * is_residual)
    for ours, theirs in (("convolution", "conv"), ("dense", "fc"), ("head", "out")):
        entries += both(f"{len(sides) + 1}/{ours}.", f"b4.{theirs}")
    mapping, layers, classes = _mapping(source, len(sides) + 2)
    keys |= {"model.classes": classes, "model.deviation_group": group, "model.discriminator_residual": is_residual,
             **({"model.discriminator_mapping_layers": layers} if layers else {})}
    return Network("D", "", keys, entries + mapping, source, notes)


# {layer in TensorFlow: in PyTorch}, with its side as {side}
LAYERS = {"synthesis/SIDE/Conv": "synthesis.b{side}.conv1", "synthesis/SIDE/Conv0_up": "synthesis.b{side}.conv0",
          "synthesis/SIDE/Conv1": "synthesis.b{side}.conv1", "synthesis/SIDE/ToRGB": "synthesis.b{side}.torgb",
          "synthesis/SIDE/Const": "synthesis.b{side}", "mapping/LabelEmbed": "mapping.embed", "SIDE/FromRGB": "b{side}.fromrgb",
          "SIDE/Conv0": "b{side}.conv0", "SIDE/Conv1_down": "b{side}.conv1", "SIDE/Skip": "b{side}.skip", "SIDE/Conv": "b{side}.conv",
          "SIDE/Dense0": "b{side}.fc", "Output": "b4.out", "LabelEmbed": "mapping.embed"}
NOT_NEEDED = r"lod|dlatent_avg"


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


def of_tensorflow(source: Source) -> Source:
    """Returns the network under the names of StyleGAN2-ADA's PyTorch code."""
    options = source.settings.get("static_kwargs", {})
    tensors = {}
    for name, values in _variables(source.settings).items():
        if noise := re.fullmatch(r"synthesis/noise(\d{1,2})", name):
            layer = int(noise[1])  # that of 4 pixels, then two of each side
            tensors[f"synthesis.b{4 << (layer + 1) // 2}.conv{(layer + 1) % 2}.noise_const"] = values
            continue
        layer, _, end = name.rpartition("/")
        side = next(iter(re.findall(r"(\d+)x\1(?=/)", layer)), "")
        place = LAYERS.get(layer.replace(f"{side}x{side}/", "SIDE/"), layer).format(side=side)
        place = re.sub(r"(mapping/Dense|Mapping)(\d+)", r"mapping.fc\2", place) + ".affine" * end.startswith("mod_")
        if not re.fullmatch(NOT_NEEDED, name):
            tensors[f"{place}.{end.removeprefix('mod_')}"] = _moved(values, name)
    mapping = {"bias_gain": options.get("mapping_lrmul", RATE if source.role[:1] == "G" else 0.1),
               "activation": options.get("mapping_nonlinearity", "lrelu")}
    settings = {place: mapping for name in tensors if re.fullmatch(r"mapping\.fc\d+", place := name.removesuffix(".weight"))}
    settings["b4.mbstd"] = {"group_size": options.get("mbstd_group_size", 4)}
    settings["layers"] = {"activation": options.get("nonlinearity", "lrelu"), "resample_kernel": options.get("resample_kernel", FILTER)}
    return Source(source.role, tensors, settings, [], source.file)
