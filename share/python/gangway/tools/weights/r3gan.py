# SPDX-License-Identifier: MIT
"""R3GAN (github.com/brownvc/R3GAN, R3GAN/Networks.py)."""
from gangway.tools.weights.source import Entry, Network, Source

RECIPES = {32: "r3gan-cifar10", 64: "r3gan-ffhq64", 256: "r3gan-ffhq256"}
RESIDUAL = {"expand.weight": "LinearLayer1.Layer.weight", "expand.bias": "NonLinearity1.Bias", "grouped.weight": "LinearLayer2.Layer.weight",
            "grouped.bias": "NonLinearity2.Bias", "contract.weight": "LinearLayer3.Layer.weight"}
# Between sizes, where the number of channels differs; at 4 pixels a basis stands for resampling.
TRANSITION = [Entry("/weight", "LinearLayer.Layer.weight"), Entry("/weight", "LinearLayer.weight"), Entry("/basis", "Basis"),
              Entry("/basis", "Basis.weight", lambda values: values[:, 0])]


def recognised(source: Source) -> Network | None:
    source.tensors = {name.removeprefix("Model."): values for name, values in source.tensors.items()}
    source.parameters = [name.removeprefix("Model.") for name in source.parameters]
    if "AggregationLayer.Layer.weight" in source.tensors:
        return _network(source, "G", "AggregationLayer.Layer.weight", 1)
    return _network(source, "D", "ExtractionLayer.Layer.weight", 0) if "ExtractionLayer.Layer.weight" in source.tensors else None


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
    blocks = len(source.numbers(rf"MainLayers\.{stages[0]}\.Layers\.(\d+)\.LinearLayer1\.Layer\.weight"))
    classes = source.size("EmbeddingLayer.weight", 1) if "EmbeddingLayer.weight" in source.tensors else 0
    keys = {"model.family": "r3gan", "model.resolution": resolution, "model.width": upwards[-1], "model.blocks": blocks,
            "model.widest_side": widest, "model.channels": source.size(pointwise, 0 if is_generator else 1), "model.classes": classes}
    embedding = [[Entry("/embedding", "EmbeddingLayer.weight", lambda values: values.t())]] * (classes > 0)
    picture = [[Entry("/weight", pointwise)]]
    order = [*(embedding if is_generator else picture)]  # entries by block
    for stage in stages:
        places = [f"MainLayers.{stage}.Layers.{layer}." for layer in range(first, first + blocks)]
        residuals = [[Entry(f"/{ours}", place + theirs) for ours, theirs in RESIDUAL.items()] for place in places]
        end = f"MainLayers.{stage}.Layers.{0 if first else blocks}."
        transition = [Entry(ours, end + theirs, change) for ours, theirs, change in TRANSITION if end + theirs in source.tensors]
        order += [transition, *residuals] if is_generator else [*residuals, transition]
    order += picture if is_generator else embedding
    entries = [Entry(f"{block}{ours}", *rest) for block, found in enumerate(order) for ours, *rest in found]
    if is_generator:
        features = source.size("EmbeddingLayer.weight") if classes else 0
        keys["model.latent"] = latent = source.size("MainLayers.0.Layers.0.LinearLayer.weight", 1) - features
        if features not in (0, latent):
            source.refuse(f"embeds a label in {features} numbers beside {latent} of noise, and the family r3gan in as many")
    return Network(part, RECIPES.get(resolution, "r3gan-ffhq64"), keys, entries, source)
