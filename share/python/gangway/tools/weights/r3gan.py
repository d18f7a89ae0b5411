# SPDX-License-Identifier: MIT
"""R3GAN (github.com/brownvc/R3GAN, R3GAN/Networks.py)."""
from gangway.tools.weights.files import Part
from gangway.tools.weights.source import Entry, Network, Source, transposed

RECIPES = {32: "r3gan-cifar10", 64: "r3gan-ffhq64", 256: "r3gan-ffhq256"}
FILTER = [1, 3, 3, 1]  # [1, 2, 1] repeated over two pixels


def recognised(part: Part) -> Network | None:
    prefix = "Model." if any(name.startswith("Model.") for name in part.tensors) else ""
    source = Source(part, prefix)
    if "AggregationLayer.Layer.weight" in source:
        return _generator(source)
    return _discriminator(source) if "ExtractionLayer.Layer.weight" in source else None


def _residual(ours: int, theirs: str) -> list[Entry]:
    names = {"expand.weight": "LinearLayer1.Layer.weight", "expand.bias": "NonLinearity1.Bias", "grouped.weight": "LinearLayer2.Layer.weight",
             "grouped.bias": "NonLinearity2.Bias", "contract.weight": "LinearLayer3.Layer.weight"}
    return [Entry(f"{ours}/{name}", f"{theirs}.{name_theirs}") for name, name_theirs in names.items()]


def _keys(source: Source, widths: list[int], channels: int) -> dict:
    """Returns keys of the model. @param widths  channels by size, from 4 pixels up"""
    for name in [name for name in source.tensors if name.endswith("Resampler.Kernel")]:
        line = source.tensors[name].sum(0)
        if [round(float(value) * sum(FILTER), 4) for value in line] != FILTER:
            source.refuse("resamples by another filter than [1, 2, 1]")
    source.without(r".*\.Resampler\.Kernel")
    resolution = 4 << len(widths) - 1
    widest = max(4 << stage for stage, width in enumerate(widths) if width == widths[0])
    for stage, width in enumerate(widths):
        if width != (expected := widths[-1] * resolution // max(4 << stage, widest)):
            source.refuse(f"has {width} channels at {4 << stage} pixels, where the family r3gan has {expected}")
    blocks = [len(source.numbers(rf"MainLayers\.{stage}\.Layers\.(\d+)\.LinearLayer1\.Layer\.weight")) for stage in range(len(widths))]
    if len(set(blocks)) > 1:
        source.refuse(f"has {blocks} residual blocks by size, and the family r3gan as many at each")
    return {"model.family": "r3gan", "model.resolution": resolution, "model.width": widths[-1], "model.blocks": blocks[0],
            "model.widest_side": widest, "model.channels": channels}


def _generator(source: Source) -> Network:
    stages = source.numbers(r"MainLayers\.(\d+)\.Layers\.1\.LinearLayer1\.Layer\.weight")
    keys = _keys(source, [source.size(f"MainLayers.{stage}.Layers.1.LinearLayer1.Layer.weight", 1) for stage in stages],
                 source.size("AggregationLayer.Layer.weight"))
    latent, classes, entries, block = source.size("MainLayers.0.Layers.0.LinearLayer.weight", 1), 0, [], 0
    if (name := "EmbeddingLayer.weight") in source:
        features, classes = source.size(name), source.size(name, 1)
        latent -= features
        if features != latent:
            source.refuse(f"embeds a label in {features} numbers beside {latent} of noise, and the family r3gan in as many")
        entries, block = [Entry("0/embedding", name, transposed)], 1
    for stage in stages:
        before = f"MainLayers.{stage}.Layers"
        if stage == 0:
            entries += [Entry(f"{block}/basis", f"{before}.0.Basis"), Entry(f"{block}/weight", f"{before}.0.LinearLayer.weight")]
        elif f"{before}.0.LinearLayer.Layer.weight" in source:
            entries.append(Entry(f"{block}/weight", f"{before}.0.LinearLayer.Layer.weight"))
        for layer in range(keys["model.blocks"]):
            entries += _residual(block + 1 + layer, f"{before}.{1 + layer}")
        block += 1 + keys["model.blocks"]
    entries.append(Entry(f"{block}/weight", "AggregationLayer.Layer.weight"))
    keys |= {"model.latent": latent, "model.classes": classes}
    return Network("G", RECIPES.get(keys["model.resolution"], "r3gan-ffhq64"), keys, entries, source)


def _discriminator(source: Source) -> Network:
    stages = source.numbers(r"MainLayers\.(\d+)\.Layers\.0\.LinearLayer1\.Layer\.weight")
    widths = [source.size(f"MainLayers.{stage}.Layers.0.LinearLayer1.Layer.weight", 1) for stage in stages]
    keys = _keys(source, widths[::-1], source.size("ExtractionLayer.Layer.weight", 1))
    entries, block = [Entry("0/weight", "ExtractionLayer.Layer.weight")], 1
    for stage in stages:
        before, blocks = f"MainLayers.{stage}.Layers", keys["model.blocks"]
        for layer in range(blocks):
            entries += _residual(block + layer, f"{before}.{layer}")
        block += blocks
        if stage == stages[-1]:
            entries += [Entry(f"{block}/basis", f"{before}.{blocks}.Basis.weight", lambda values: values[:, 0]),
                        Entry(f"{block}/weight", f"{before}.{blocks}.LinearLayer.weight")]
        elif f"{before}.{blocks}.LinearLayer.Layer.weight" in source:
            entries.append(Entry(f"{block}/weight", f"{before}.{blocks}.LinearLayer.Layer.weight"))
        block += 1
    keys["model.classes"] = 0
    if (name := "EmbeddingLayer.weight") in source:
        keys["model.classes"] = source.size(name, 1)
        entries.append(Entry(f"{block}/embedding", name, transposed))
    return Network("D", "", keys, entries, source)
