# SPDX-License-Identifier: MIT
"""Writes a run's generator as an INT8 ONNX file, if the score of its pictures stays near that of float32."""
import functools
import itertools
import logging
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy
from safetensors.numpy import load_file, save

from gangway.errors import Failed
from gangway.tools import engine
from gangway.tools.command_line import Parser, number, require_place, say, whole_number
from gangway.tools.exported import Exported, export
from gangway.tools.measured import heed, written_whole

MOST_RATIO, TRIES = 1.1, 3  # of the score to that of float32; further tries, each with more layers in float32
PART_KEPT = 0.25            # of the layers, more in each try
CALIBRATION, FOR_COSTS = 512, 64  # inputs: noise of seeds, or training pictures; evaluation's are others
BATCH = 32
CONVOLUTIONS = ("Conv", "ConvTranspose")
FEW = 4  # channels of a result, such as a picture's, whose transposed convolution is slow in OpenVINO
DOUBLING = {"kernel_shape": [4, 4], "strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [0, 0], "group": 1}
# {parity of an output's row or column: {offset of the input's row or column: its place in the kernel of four}}
TAPS = {0: {-1: 3, 0: 1}, 1: {0: 2, 1: 0}}


def layers_of(graph) -> list[str]:
    """Returns the nodes to quantise: convolutions, else products with weights; neither the ends, nor filters (groups), norms and styles."""
    weights = {one.name for one in graph.initializer}
    layers = [node for node in graph.node if node.op_type in (*CONVOLUTIONS, "MatMul") and node.input[1] in weights]
    has_maps = any(node.op_type in CONVOLUTIONS for node in layers)

    def is_quantised(node) -> bool:
        groups = {one.name: one.i for one in node.attribute}.get("group", 1)
        return groups == 1 and (node.op_type in CONVOLUTIONS or not has_maps)
    return [node.name for node in layers[1:-1] if is_quantised(node)]


def of_parities(weight: numpy.ndarray) -> numpy.ndarray:
    """Returns a doubling transposed convolution's weight [in, out, 4, 4] as a convolution's, [4 out, in, 3, 3]: a map for each parity."""
    inputs, outputs = weight.shape[:2]
    parts = numpy.zeros((outputs, 2, 2, inputs, 3, 3), weight.dtype)
    for row, column in itertools.product(TAPS, TAPS):
        for (y, from_y), (x, from_x) in itertools.product(TAPS[row].items(), TAPS[column].items()):
            parts[:, row, column, :, 1 + y, 1 + x] = weight[:, :, from_y, from_x].T
    return parts.reshape(4 * outputs, inputs, 3, 3)


def replace_doubling(graph) -> None:
    """Replaces transposed convolutions that double the sides and make few channels by convolutions."""
    from onnx import helper, numpy_helper
    constants = {one.name: one for one in graph.initializer}
    for index, node in enumerate(graph.node):
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        if node.op_type != "ConvTranspose" or attributes != DOUBLING or constants[node.input[1]].dims[1] > FEW:
            continue
        weight, *bias = (numpy_helper.to_array(constants[name]) for name in node.input[1:])
        for name in node.input[1:]:
            graph.initializer.remove(constants[name])
        values = dict(zip((f"{node.name}.weight", f"{node.name}.bias"), [of_parities(weight), *(numpy.repeat(one, 4) for one in bias)]))
        graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in values.items())
        unfolded = helper.make_node("DepthToSpace", [f"{node.name}.maps"], list(node.output), f"{node.name}.pixels", blocksize=2, mode="CRD")
        made = helper.make_node("Conv", [node.input[0], *values], [f"{node.name}.maps"], node.name, kernel_shape=[3, 3], strides=[1, 1],
                                pads=[1, 1, 1, 1], group=1)
        node.CopyFrom(made)
        graph.node.insert(index + 1, unfolded)


def batches_of(inputs: dict) -> list[dict]:
    return [{name: array[first:first + BATCH] for name, array in inputs.items()} for first in range(0, len(next(iter(inputs.values()))), BATCH)]


def heeding(batches: list[dict]):
    """Yields the batches, and heeds signals between them."""
    for batch in batches:
        heed()
        yield batch


class Quantizer:
    """Quantises one exported generator in `folder`, and computes with ONNX Runtime."""

    def __init__(self, exported: Exported, samples: int | None, threads: int):
        import onnx
        self.exported, self.threads = exported, threads
        model = onnx.load(exported.onnx)
        graph = model.graph
        replace_doubling(graph)
        self.onnx = exported.folder / "replaced.onnx"
        onnx.save(model, self.onnx)
        self.layers = layers_of(graph)
        makers = {node.output[0]: node.name for node in graph.node}
        self.relus = {makers.get(node.input[0]): node.name for node in graph.node if node.op_type == "Relu"}  # by layer
        if not self.layers:
            raise Failed(f"{exported.choice[0]}: its generator has no layers between the first and the last, so INT8 would change nothing")
        self.calibration = batches_of(load_file(exported.inputs("calibration", "--seeds", f"0-{CALIBRATION - 1}")))
        self.evaluation = batches_of(load_file(exported.inputs("evaluation", "--evaluation", *(["--samples", samples] if samples else []))))

    def quantised(self, kept, calibration: list[dict], name: str = "int8") -> Path:
        """Returns the file in which all layers but `kept` are INT8. Results are rounded behind a ReLU alone: norms and noise need floats."""
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
        file = self.exported.folder / f"{name}.onnx"
        layers = [layer for layer in self.layers if layer not in kept]
        relus = [self.relus[layer] for layer in layers if layer in self.relus]
        logging.disable(logging.WARNING)  # it recommends a preparation that this file has had
        tempfile.tempdir = str(self.exported.folder)  # where the next quantize removes what a killed one leaves
        try:
            reader = SimpleNamespace(get_next=functools.partial(next, heeding(calibration), None))  # a CalibrationDataReader
            quantize_static(str(self.onnx), str(file), reader, quant_format=QuantFormat.QDQ, per_channel=True,
                            weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8, nodes_to_quantize=layers + relus,
                            extra_options={"OpTypesToExcludeOutputQuantization": [] if relus else CONVOLUTIONS})
        finally:
            logging.disable(logging.NOTSET)
            tempfile.tempdir = None
        return file

    def made_by(self, file: Path, batches: list[dict]) -> numpy.ndarray:
        compute, _ = engine.onnxruntime(str(file), self.threads, "fp32")
        return numpy.concatenate([compute(batch) for batch in heeding(batches)])

    def score_of(self, file: Path) -> dict:
        made = self.exported.folder / "made.safetensors"
        made.write_bytes(save({"output": self.made_by(file, self.evaluation)}))
        return self.exported.score_of(made)

    def costs(self, kept: list[str]) -> dict[str, float]:
        """Returns by layer the share of the squared error that would go if it stayed in float32, the largest first."""
        some = self.calibration[:FOR_COSTS // BATCH]
        expected = self.made_by(self.exported.onnx, some)

        def error(layers):
            if len(layers) == len(self.layers):
                return 0.0
            return float(((self.made_by(self.quantised(layers, some, "cost"), some) - expected) ** 2).mean())
        whole = error(kept)
        shares = {layer: 1 - error([*kept, layer]) / whole if whole else 0.0 for layer in self.layers if layer not in kept}
        return dict(sorted(shares.items(), key=lambda one: -one[1]))


def worse_by(score: dict, reference: dict) -> float:
    """Returns how many times worse a score is; below 1: better."""
    one, other = score["score"], reference["score"]
    if score["better"] == "higher":
        one, other = other, one
    return one / other if other > 0 else (1.0 if one <= other else float("inf"))


def quantize(run: str, output, *, outdir: str = "runs", samples: int | None = None, most: float = MOST_RATIO, threads: int = 2, say=say) -> dict:
    """Writes the file and returns "kept", "score", "score_fp32". @param output  must not exist; samples: pictures that are scored,
    None: the job's number; most: ratio of the scores. Raises Failed, and names the dearest layers, if no try stays below it."""
    output = Path(output)
    require_place(output)
    if output.exists():
        raise Failed(f"-o {output}: exists already; name a new file")
    with written_whole(output, ".gangway-quantize-") as folder:
        quantizer = Quantizer(export(run, outdir, folder), samples, threads)
        reference = quantizer.score_of(quantizer.exported.onnx)
        say(f"fp32: {reference['metric']} {reference['score']:.4g}")
        kept, costs = [], {}
        for _ in range(1 + TRIES):
            file = quantizer.quantised(kept, quantizer.calibration)
            score = quantizer.score_of(file)
            ratio = worse_by(score, reference)
            say(f"INT8, {len(quantizer.layers) - len(kept)} of {len(quantizer.layers)} layers: {score['metric']} {score['score']:.4g}, "
                f"{ratio:.3f} times that of fp32" + (f"; in float32: {', '.join(kept)}" if kept else ""))
            if ratio <= most:
                _write(file, folder / "new", {"kept": " ".join(kept), "score": f"{score['metric']} {score['score']:.6g}",
                                             "score_fp32": f"{reference['score']:.6g}"})
                return {"kept": kept, "score": score["score"], "score_fp32": reference["score"]}
            costs = quantizer.costs(kept)
            kept = kept + list(costs)[:max(1, round(PART_KEPT * len(quantizer.layers)))]
            if len(kept) >= len(quantizer.layers):
                break
        dearest = ", ".join(f"{layer} ({100 * share:.0f} %)" for layer, share in list(costs.items())[:3])
        raise Failed(f"{run}: refused, and nothing was written: INT8 makes {reference['metric']} {ratio:.2f} times that of fp32, above "
                     f"{most:g}; the layers that cost most of the error: {dearest}; use the float32 file, or raise --most")


def _write(file: Path, output: Path, notes: dict[str, str]) -> None:
    import onnx
    model = onnx.load(file)
    for key, value in notes.items():
        model.metadata_props.add(key=f"gangway.int8.{key}", value=value)
    onnx.save(model, output)


def command(words: list[str]) -> None:
    parser = Parser("quantize", "Write a generator as INT8 ONNX, if the score of its pictures stays near that of float32",
                    "Examples:\n  gangway quantize fashion-mnist -o g.int8.onnx\n"
                    "  gangway bench inference fashion-mnist --int8 g.int8.onnx\ndocs/deploying.md says which layers stay in float32.")
    parser.add_run()
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write; must not exist")
    parser.add_argument("--most", type=number(1), default=MOST_RATIO, help="most that the score may be of that of float32 (%(default)s)")
    parser.add_argument("--samples", type=whole_number(100, 10**6), metavar="N",
                        help="pictures that are scored; default: evaluation.images of the job")
    parser.add_count("--threads", default=2, most=1024, what="threads")
    line = parser.parse_args(words)
    done = quantize(**vars(line))
    print(f"{line.output}: INT8, {len(done['kept'])} layers in float32")
