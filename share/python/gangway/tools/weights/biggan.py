# SPDX-License-Identifier: MIT
"""BigGAN (github.com/ajbrock/BigGAN-PyTorch, BigGAN.py and layers.py)."""
from gangway.tools.weights.files import Part
from gangway.tools.weights.source import Entry, Network, Source, both

SHARED = 128  # features of the labels' embedding: job/families/biggan.cpp
RESOLUTIONS = {3: 32, 4: 64, 5: 128, 6: 256}  # by the generator's blocks
LAST_FACTORS = {32: 4, 64: 2, 128: 1, 256: 1}  # channels of the last maps over model.width
CONVOLUTIONS = {"first": "conv1", "second": "conv2", "shortcut": "conv_sc"}
ATTENTION = {"query": "theta", "key": "phi", "value": "g", "joined": "o"}


def recognised(part: Part) -> Network | None:
    source = Source(part)
    if "blocks.0.0.conv1.weight" not in source:
        return None
    source.drop(r".*\.?(sv\d+|accumulation_counter|num_batches_tracked)")
    source.parameters = [name for name in source.tensors
                         if not name.endswith(("stored_mean", "stored_var", "running_mean", "running_var", "u0"))]
    is_generator = "output_layer.0.gain" in source
    blocks = source.numbers(r"blocks\.(\d+)\.0\.conv1\.weight")
    if (up := len(blocks) - 1 + is_generator) not in RESOLUTIONS:
        source.refuse(f"has {len(blocks)} blocks; the family biggan has them for 32 to 256 pixels")
    attended = source.numbers(r"blocks\.(\d+)\.1\.theta\.weight")
    return (_generator if is_generator else _discriminator)(source, RESOLUTIONS[up], blocks, attended)


def _map(ours: str, theirs: str, bias: bool = True) -> list[Entry]:
    return [*both(f"{ours}.", theirs)[:1 + bias], Entry(f"{ours}.direction", f"{theirs}.u0", lambda values: values.reshape(-1))]


def _statistics(source: Source, ours: str, theirs: str) -> list[Entry]:
    """Returns BatchNorm's; three classes of the code have names of their own for them."""
    mean = next((name for name in ("stored_mean", "bn.stored_mean", "bn.running_mean") if f"{theirs}.{name}" in source), "stored_mean")
    return [Entry(f"{ours}.running_mean", f"{theirs}.{mean}"), Entry(f"{ours}.running_var", f"{theirs}.{mean.replace('mean', 'var')}")]


def _block(source: Source, block: int, index: int, is_attended: bool) -> list[Entry]:
    """Returns the entries of a residual block's convolutions, and of the attention behind it."""
    found = [entry for ours, name in CONVOLUTIONS.items() if f"blocks.{index}.0.{name}.weight" in source
             for entry in _map(f"{block}/{ours}", f"blocks.{index}.0.{name}")]
    if is_attended:
        found += [entry for ours, name in ATTENTION.items() for entry in _map(f"{block + 1}/{ours}", f"blocks.{index}.1.{name}", bias=False)]
        found.append(Entry(f"{block + 1}/gain", f"blocks.{index}.1.gamma", lambda values: values.reshape(1)))
    return found


def _generator(source: Source, resolution: int, blocks: list[int], attended: list[int]) -> Network:
    if len(attended) > 1:
        source.refuse(f"has attention at {len(attended)} sizes, and the family biggan at one")
    condition, taken = source.size("blocks.0.0.bn1.gain.weight", 1), source.size("linear.weight", 1)
    is_shared = "shared.weight" in source
    if is_shared and (features := source.size("shared.weight", 1)) != SHARED:
        source.refuse(f"embeds a label in {features} features (shared_dim), and the family biggan in {SHARED}")
    is_hierarchical = is_shared and condition > SHARED
    if is_hierarchical and condition - SHARED != taken:
        source.refuse(f"gives {taken} numbers of noise to its first layer and {condition - SHARED} to its blocks")
    entries = _map("0/linear", "linear") + ([Entry("1/embedding", "shared.weight")] if is_shared else [])
    block = 1 + is_shared
    for index in blocks:
        entries += _block(source, block, index, index in attended)
        for ours, name in (("first_norm", "bn1"), ("second_norm", "bn2")):
            for ours_part, part in (("gain", "gain"), ("shift", "bias")):
                entries += (_map(f"{block}/{ours}_{ours_part}", f"blocks.{index}.0.{name}.{part}", bias=False) if is_shared
                            else [Entry(f"{block}/{ours}_{ours_part}.embedding", f"blocks.{index}.0.{name}.{part}.weight")])
            entries += _statistics(source, f"{block}/{ours}", f"blocks.{index}.0.{name}")
        block += 1 + (index in attended)
    entries += [Entry(f"{block}/norm.weight", "output_layer.0.gain"), Entry(f"{block}/norm.bias", "output_layer.0.bias"),
                *_statistics(source, f"{block}/norm", "output_layer.0"), *_map(f"{block}/picture", "output_layer.2")]
    keys = {"model.family": "biggan", "model.resolution": resolution, "model.channels": source.size("output_layer.2.weight"),
            "model.width": source.size("output_layer.0.gain") // LAST_FACTORS[resolution],
            "model.latent": taken * (len(blocks) + 1) if is_hierarchical else taken,
            "model.classes": source.size("shared.weight" if is_shared else "blocks.0.0.bn1.gain.weight"),
            "model.conditioning": "hierarchical" if is_hierarchical else "shared" if is_shared else "separate",
            "model.attention": 8 << attended[0] if attended else 0}
    return Network("G", "biggan-cifar10" if resolution == 32 else "biggan-128", keys, entries, source)


def _discriminator(source: Source, resolution: int, blocks: list[int], attended: list[int]) -> Network:
    is_everywhere = resolution == 32 and len(attended) == len(blocks)
    entries, block = [], 0
    for index in blocks:
        entries += _block(source, block, index, index in attended)
        block += 1 + (index in attended)
    entries += _map(f"{block}/linear", "linear") + _map(f"{block}/embedding", "embed", bias=False)
    keys = {"model.family": "biggan", "model.resolution": resolution, "model.channels": source.size("blocks.0.0.conv1.weight", 1),
            "model.width": source.size("blocks.0.0.conv1.weight") // (4 if resolution == 32 else 1),
            "model.classes": source.size("embed.weight"), "model.attention_everywhere": is_everywhere,
            "model.attention": 16 if is_everywhere else resolution >> attended[0] + 1 if attended else 0}
    return Network("D", "", keys, entries, source)
