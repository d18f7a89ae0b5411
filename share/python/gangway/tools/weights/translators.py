# SPDX-License-Identifier: MIT
"""CycleGAN and pix2pix (github.com/junyanz/pytorch-CycleGAN-and-pix2pix, models/networks.py): generators, and discriminators of patches."""
from gangway.tools.weights.source import Entry, Network, Source, both

NORM = ("weight", "bias", "running_mean", "running_var")
INSTANCE_STATISTICS = r"(.*\.)?(running_mean|running_var|num_batches_tracked)"


def recognised(source: Source) -> Network | None:
    if "model.model.0.weight" in source.tensors:
        return _unet(source)
    if "model.1.weight" in source.tensors and any(".conv_block." in name for name in source.tensors):
        return _residual(source)
    return _patches(source) if "model.0.weight" in source.tensors and "model.2.weight" in source.tensors else None


def _layer(block: int, theirs: str, norm: str) -> list[Entry]:
    """Returns the entries of a convolution without bias, and of the BatchNorm behind it, if `norm` names one."""
    return [Entry(f"{block}/weight", f"{theirs}.weight"), *(both(f"{block}/norm.", norm, names=NORM) if norm else [])]


def _residual(source: Source) -> Network:
    if "model.2.weight" in source.tensors:
        source.refuse("has BatchNorm between residual blocks (--norm batch), and the family cyclegan instance normalization")
    source.drop(INSTANCE_STATISTICS)
    blocks = source.numbers(r"model\.(\d+)\.conv_block\.1\.weight")
    entries = []
    for number, place in enumerate([1, 4, 7, *blocks, *(blocks[-1] + step for step in (1, 4, 8))]):
        if place not in blocks:
            entries += both(f"{number}/", f"model.{place}")
            continue
        second = max(source.numbers(rf"model\.{place}\.conv_block\.(\d+)\.weight"))  # 6 with dropout, else 5
        entries += both(f"{number}/first.", f"model.{place}.conv_block.1") + both(f"{number}/second.", f"model.{place}.conv_block.{second}")
    keys = {"model.family": "cyclegan", "model.width": source.size("model.1.weight"), "model.blocks": len(blocks),
            "model.channels": _channels(source, "model.1.weight", f"model.{blocks[-1] + 8}.weight")}
    return Network("G", "cyclegan-maps", keys, entries, source)


def _channels(source: Source, first: str, last: str, axis: int = 0) -> int:
    if (given := source.size(first, 1)) != (made := source.size(last, axis)):
        source.refuse(f"makes pictures of {made} channels of pictures of {given}; here both have model.channels")
    return given


def _unet(source: Source) -> Network:
    places, place = [], "model.model."
    while any(name.startswith(place) for name in source.tensors):
        places.append(place)
        place += "3.model." if places[1:] else "1.model."
    levels = len(places)
    if f"{places[1]}2.weight" not in source.tensors:
        source.refuse("has no BatchNorm (--norm instance), and the family unet has it")
    source.drop(r".*num_batches_tracked")
    entries = both(f"{3 * levels - 2}/", "model.model.3")
    for level, before in enumerate(places):
        entries += _layer(level, f"{before}{min(level, 1)}", f"{before}2" if 0 < level < levels - 1 else "")
    for level in range(1, levels):
        place = 3 if level == levels - 1 else 5
        entries += _layer(3 * levels - 2 * (level + 1), f"{places[level]}{place}", f"{places[level]}{place + 1}")
    keys = {"model.family": "unet", "model.width": source.size("model.model.0.weight"), "model.resolution": 1 << levels,
            "model.channels": _channels(source, "model.model.0.weight", "model.model.3.weight", axis=1)}
    return Network("G", "pix2pix-facades", keys, entries, source)


def _patches(source: Source) -> Network:
    is_batch = "model.3.running_mean" in source.tensors and "model.3.weight" in source.tensors
    source.drop(r".*num_batches_tracked" if is_batch else INSTANCE_STATISTICS)
    places = [number for number in source.numbers(r"model\.(\d+)\.weight") if source.tensors[f"model.{number}.weight"].dim() == 4]
    entries = []
    for number, place in enumerate(places):
        has_norm = is_batch and place not in (places[0], places[-1])
        entries += _layer(number, f"model.{place}", f"model.{place + 1}") if has_norm else both(f"{number}/", f"model.{place}")
    keys = {"model.family": "unet" if is_batch else "cyclegan", "model.width": source.size("model.0.weight")}
    return Network("D", "", keys, entries, source)
