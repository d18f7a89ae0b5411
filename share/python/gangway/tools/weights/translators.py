# SPDX-License-Identifier: MIT
"""CycleGAN and pix2pix (github.com/junyanz/pytorch-CycleGAN-and-pix2pix, models/networks.py): generators of residual blocks or as a
U-Net, and discriminators of patches."""
from gangway.tools.weights.files import Part
from gangway.tools.weights.source import Entry, Network, Source, both

INSTANCE_STATISTICS = r"(.*\.)?(running_mean|running_var|num_batches_tracked)"


def recognised(part: Part) -> Network | None:
    source = Source(part)
    if "model.model.0.weight" in source:
        return _unet(source)
    if "model.1.weight" in source and any(".conv_block." in name for name in source.tensors):
        return _residual(source)
    return _patches(source) if "model.0.weight" in source and "model.2.weight" in source else None


def _norm(ours: str, theirs: str) -> list[Entry]:
    return [*both(f"{ours}norm.", theirs), Entry(f"{ours}norm.running_mean", f"{theirs}.running_mean"),
            Entry(f"{ours}norm.running_var", f"{theirs}.running_var")]


def _residual(source: Source) -> Network:
    if "model.2.weight" in source:
        source.refuse("has BatchNorm between residual blocks (--norm batch), and the family cyclegan instance normalization")
    source.drop(INSTANCE_STATISTICS)
    blocks = source.numbers(r"model\.(\d+)\.conv_block\.1\.weight")
    entries = both("0/", "model.1") + both("1/", "model.4") + both("2/", "model.7")
    for number, place in enumerate(blocks, 3):
        second = max(source.numbers(rf"model\.{place}\.conv_block\.(\d+)\.weight"))  # 6 with dropout, else 5
        entries += both(f"{number}/first.", f"model.{place}.conv_block.1") + both(f"{number}/second.", f"model.{place}.conv_block.{second}")
    for number, step in enumerate((1, 4, 8)):
        entries += both(f"{3 + len(blocks) + number}/", f"model.{blocks[-1] + step}")
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
    if f"{places[1]}2.weight" not in source:
        source.refuse("has no BatchNorm (--norm instance), and the family unet has it")
    source.drop(r".*num_batches_tracked")
    entries, block = [], levels
    for level, before in enumerate(places):
        entries.append(Entry(f"{level}/weight", f"{before}{min(level, 1)}.weight"))
        entries += _norm(f"{level}/", f"{before}2") if 0 < level < levels - 1 else []
    for level in reversed(range(1, levels)):
        place = 3 if level == levels - 1 else 5
        entries += [Entry(f"{block}/weight", f"{places[level]}{place}.weight"), *_norm(f"{block}/", f"{places[level]}{place + 1}")]
        block += 2
    entries += both(f"{block}/", "model.model.3")
    keys = {"model.family": "unet", "model.width": source.size("model.model.0.weight"), "model.resolution": 1 << levels,
            "model.channels": _channels(source, "model.model.0.weight", "model.model.3.weight", axis=1)}
    return Network("G", "pix2pix-facades", keys, entries, source)


def _patches(source: Source) -> Network:
    is_batch = "model.3.running_mean" in source and "model.3.weight" in source
    source.drop(r".*num_batches_tracked" if is_batch else INSTANCE_STATISTICS)
    places = [number for number in source.numbers(r"model\.(\d+)\.weight") if source.tensors[f"model.{number}.weight"].dim() == 4]
    entries = []
    for number, place in enumerate(places):
        is_plain = not is_batch or place in (places[0], places[-1])
        entries += both(f"{number}/", f"model.{place}") if is_plain else [Entry(f"{number}/weight", f"model.{place}.weight")]
        entries += _norm(f"{number}/", f"model.{place + 1}") if not is_plain else []
    keys = {"model.family": "unet" if is_batch else "cyclegan", "model.width": source.size("model.0.weight")}
    return Network("D", "", keys, entries, source)
