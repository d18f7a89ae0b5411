# SPDX-License-Identifier: MIT
"""BigGAN (github.com/ajbrock/BigGAN-PyTorch, BigGAN.py and layers.py)."""
from gangway.tools.weights.source import Entry, Network, Source, both

SHARED = 128  # features of the labels' embedding: job/families/biggan.cpp
RESOLUTIONS = {3: 32, 4: 64, 5: 128, 6: 256}  # by the generator's blocks
LAST_FACTORS = {32: 4, 64: 2, 128: 1, 256: 1}  # channels of the last maps over model.width
CONVOLUTIONS = {"first": "conv1", "second": "conv2", "shortcut": "conv_sc"}
ATTENTION = {"query": "theta", "key": "phi", "value": "g", "joined": "o"}


def recognised(source: Source) -> Network | None:
    if "blocks.0.0.conv1.weight" not in source.tensors:
        return None
    source.drop(r".*\.?(sv\d+|accumulation_counter|num_batches_tracked)")
    source.parameters = [name for name in source.tensors
                         if not name.endswith(("stored_mean", "stored_var", "running_mean", "running_var", "u0"))]
    is_generator = "output_layer.0.gain" in source.tensors
    blocks = source.numbers(r"blocks\.(\d+)\.0\.conv1\.weight")
    if (up := len(blocks) - 1 + is_generator) not in RESOLUTIONS:
        source.refuse(f"has {len(blocks)} blocks; the family biggan has them for 32 to 256 pixels")
    attended = source.numbers(r"blocks\.(\d+)\.1\.theta\.weight")
    first = 1 + ("shared.weight" in source.tensors) if is_generator else 0  # behind the linear layer and the labels' embedding
    places = [first + index + sum(one < index for one in attended) for index in range(len(blocks) + 1)]
    return (_generator if is_generator else _discriminator)(source, RESOLUTIONS[up], places, attended)


def _map(ours: str, theirs: str, names=("weight", "bias")) -> list[Entry]:
    return [*both(f"{ours}.", theirs, names=names), Entry(f"{ours}.direction", f"{theirs}.u0", lambda values: values.reshape(-1))]


def _statistics(source: Source, ours: str, theirs: str) -> list[Entry]:
    """Returns BatchNorm's; three classes of the code have names of their own for them."""
    mean = next((name for name in ("stored_mean", "bn.stored_mean", "bn.running_mean") if f"{theirs}.{name}" in source.tensors), "stored_mean")
    return [Entry(f"{ours}.running_mean", f"{theirs}.{mean}"), Entry(f"{ours}.running_var", f"{theirs}.{mean.replace('mean', 'var')}")]


def _residuals(source: Source, places: list[int], attended: list[int]) -> list[Entry]:
    """Returns the entries of residual blocks, and of attention behind one. @param places  our number for each block, and the layer behind"""
    found = []
    for index, block in enumerate(places):
        for ours, name in CONVOLUTIONS.items():
            found += _map(f"{block}/{ours}", f"blocks.{index}.0.{name}") if f"blocks.{index}.0.{name}.weight" in source.tensors else []
    for index in attended:
        for ours, name in ATTENTION.items():
            found += _map(f"{places[index] + 1}/{ours}", f"blocks.{index}.1.{name}", names=["weight"])
        found.append(Entry(f"{places[index] + 1}/gain", f"blocks.{index}.1.gamma", lambda values: values.reshape(1)))
    return found


def _generator(source: Source, resolution: int, places: list[int], attended: list[int]) -> Network:
    if len(attended) > 1:
        source.refuse(f"has attention at {len(attended)} sizes, and the family biggan at one")
    condition, taken = source.size("blocks.0.0.bn1.gain.weight", 1), source.size("linear.weight", 1)
    is_shared = "shared.weight" in source.tensors
    if is_shared and (features := source.size("shared.weight", 1)) != SHARED:
        source.refuse(f"embeds a label in {features} features (shared_dim), and the family biggan in {SHARED}")
    is_hierarchical = is_shared and condition > SHARED
    if is_hierarchical and condition - SHARED != taken:
        source.refuse(f"gives {taken} numbers of noise to its first layer and {condition - SHARED} to its blocks")
    entries = _map("0/linear", "linear") + _residuals(source, places, attended)
    entries += [Entry("1/embedding", "shared.weight")] if is_shared else []
    *inner, end = places
    for index, block in enumerate(inner):
        for ours, name in (("first_norm", "bn1"), ("second_norm", "bn2")):
            place = f"blocks.{index}.0.{name}"
            for ours_part, part in (("gain", "gain"), ("shift", "bias")):
                entries += (_map(f"{block}/{ours}_{ours_part}", f"{place}.{part}", names=["weight"]) if is_shared
                            else [Entry(f"{block}/{ours}_{ours_part}.embedding", f"{place}.{part}.weight")])
            entries += _statistics(source, f"{block}/{ours}", place)
    entries += [Entry(f"{end}/norm.weight", "output_layer.0.gain"), Entry(f"{end}/norm.bias", "output_layer.0.bias"),
                *_statistics(source, f"{end}/norm", "output_layer.0"), *_map(f"{end}/picture", "output_layer.2")]
    keys = {"model.family": "biggan", "model.resolution": resolution, "model.channels": source.size("output_layer.2.weight"),
            "model.width": source.size("output_layer.0.gain") // LAST_FACTORS[resolution],
            "model.latent": taken * len(places) if is_hierarchical else taken,
            "model.classes": source.size("shared.weight" if is_shared else "blocks.0.0.bn1.gain.weight"),
            "model.conditioning": "hierarchical" if is_hierarchical else "shared" if is_shared else "separate",
            "model.attention": 8 << attended[0] if attended else 0}
    return Network("G", "biggan-cifar10" if resolution == 32 else "biggan-128", keys, entries, source)


def _discriminator(source: Source, resolution: int, places: list[int], attended: list[int]) -> Network:
    is_everywhere = resolution == 32 and len(attended) == len(places) - 1
    entries = [*_residuals(source, places, attended), *_map(f"{places[-1]}/linear", "linear"),
               *_map(f"{places[-1]}/embedding", "embed", names=["weight"])]
    keys = {"model.family": "biggan", "model.resolution": resolution, "model.channels": source.size("blocks.0.0.conv1.weight", 1),
            "model.width": source.size("blocks.0.0.conv1.weight") // (4 if resolution == 32 else 1),
            "model.classes": source.size("embed.weight"), "model.attention_everywhere": is_everywhere,
            "model.attention": 16 if is_everywhere else resolution >> attended[0] + 1 if attended else 0}
    return Network("D", "", keys, entries, source)
