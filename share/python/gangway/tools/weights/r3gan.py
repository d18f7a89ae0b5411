# SPDX-License-Identifier: MIT
"""R3GAN (github.com/brownvc/R3GAN, R3GAN/Networks.py)."""
from gangway.tools.weights.files import Part
from gangway.tools.weights.source import Entry, Network, Source

RECIPES = {32: "r3gan-cifar10", 64: "r3gan-ffhq64", 256: "r3gan-ffhq256"}
RESIDUAL = {"expand.weight": "LinearLayer1.Layer.weight", "expand.bias": "NonLinearity1.Bias", "grouped.weight": "LinearLayer2.Layer.weight",
            "grouped.bias": "NonLinearity2.Bias", "contract.weight": "LinearLayer3.Layer.weight"}


def recognised(part: Part) -> Network | None:
    source = Source(part, "Model." if any(name.startswith("Model.") for name in part.tensors) else "")
    if "AggregationLayer.Layer.weight" in source:
        return _network(source, "G", "AggregationLayer.Layer.weight", 1)
    return _network(source, "D", "ExtractionLayer.Layer.weight", 0) if "ExtractionLayer.Layer.weight" in source else None


def _network(source: Source, part: str, pointwise: str, first: int) -> Network:
    """@param pointwise  layer beside the picture; first: place of a stage's first residual block"""
    is_generator = part == "G"
    source.require_filter("Resampler.Kernel", [1, 3, 3, 1], "[1, 2, 1]")
    stages = source.numbers(rf"MainLayers\.(\d+)\.Layers\.{first}\.LinearLayer1\.Layer\.weight")
    widths = [source.size(f"MainLayers.{stage}.Layers.{first}.LinearLayer1.Layer.weight", 1) for stage in stages]
    upwards = widths if is_generator else widths[::-1]  # from 4 pixels
    resolution = 4 << len(widths) - 1
    widest = max(4 << stage for stage, width in enumerate(upwards) if width == upwards[0])
    source.require_widths({4 << stage: width for stage, width in enumerate(upwards)},
                          lambda side: upwards[-1] * resolution // max(side, widest))
    blocks = [len(source.numbers(rf"MainLayers\.{stage}\.Layers\.(\d+)\.LinearLayer1\.Layer\.weight")) for stage in stages]
    if len(set(blocks)) > 1:
        source.refuse(f"has {blocks} residual blocks by size, and the family r3gan as many at each")
    classes = source.size("EmbeddingLayer.weight", 1) if "EmbeddingLayer.weight" in source else 0
    keys = {"model.family": "r3gan", "model.resolution": resolution, "model.width": upwards[-1], "model.blocks": blocks[0],
            "model.widest_side": widest, "model.channels": source.size(pointwise, 0 if is_generator else 1), "model.classes": classes}
    embedding = [[Entry("/embedding", "EmbeddingLayer.weight", lambda values: values.t())]] * (classes > 0)
    order = embedding[:] if is_generator else [[Entry("/weight", pointwise)]]  # entries by block
    for stage in stages:
        place, end = f"MainLayers.{stage}.Layers.", 0 if first else blocks[0]
        residuals = [[Entry(f"/{ours}", f"{place}{layer}.{theirs}") for ours, theirs in RESIDUAL.items()]
                     for layer in range(first, first + blocks[0])]
        transition = [Entry("/weight", f"{place}{end}.LinearLayer.Layer.weight")]
        if not is_generator and stage == stages[-1]:
            transition = [Entry("/basis", f"{place}{end}.Basis.weight", lambda values: values[:, 0]),
                          Entry("/weight", f"{place}{end}.LinearLayer.weight")]
        elif is_generator and stage == stages[0]:
            transition = [Entry("/basis", f"{place}{end}.Basis"), Entry("/weight", f"{place}{end}.LinearLayer.weight")]
        elif transition[0].theirs not in source:
            transition = []  # as many channels before as behind it
        order += [transition, *residuals] if is_generator else [*residuals, transition]
    order += [[Entry("/weight", pointwise)]] if is_generator else embedding
    entries = [Entry(f"{block}{ours}", *rest) for block, found in enumerate(order) for ours, *rest in found]
    if is_generator:
        features = source.size("EmbeddingLayer.weight") if classes else 0
        keys["model.latent"] = latent = source.size("MainLayers.0.Layers.0.LinearLayer.weight", 1) - features
        if features not in (0, latent):
            source.refuse(f"embeds a label in {features} numbers beside {latent} of noise, and the family r3gan in as many")
    return Network(part, RECIPES.get(resolution, "r3gan-ffhq64"), keys, entries, source)
