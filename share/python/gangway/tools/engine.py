#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes with an exported generator in one engine, and prints one line of JSON, as `gangway-model time` does. A program of its own,
because an engine may crash.

    engine.py onnxruntime|openvino|pytorch MODEL.onnx --inputs FILE [--batch N] [--threads N] [--precision fp32|bf16|int8]
              [--seconds S | --made FILE]
"""
import argparse
import json
import os
import resource
import sys
import time

import numpy
from safetensors.numpy import load_file, save_file

# Else the engines tell their makers of each import, and leave $TMPDIR/.ses, ~/.cache/Microsoft and ~/intel behind.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
sys.modules.setdefault("openvino_telemetry", None)  # OpenVINO does without it


def onnxruntime(model: str, threads: int, precision: str):
    import onnxruntime as engine
    options = engine.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0], f"ONNX Runtime {engine.__version__}"


def openvino(model: str, threads: int, precision: str):
    import openvino as engine
    compiled = engine.Core().compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32", "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY"})
    return lambda inputs: compiled(inputs)[0], f"OpenVINO {engine.__version__.partition('-')[0]}"


def operators() -> dict:
    """Returns by ONNX operator a function of its attributes, which returns one of its inputs. Constant integers are lists."""
    import torch
    import torch.nn.functional as F
    def padded(a):
        def pad(x, pads):
            axes = len(pads) // 2
            wanted = [size for axis in reversed(range(axes)) for size in (pads[axis], pads[axis + axes])]
            return F.pad(x, wanted[:4] if a.get("mode") == b"reflect" else wanted, "reflect" if a.get("mode") == b"reflect" else "constant")
        return pad
    def sliced(x, begins, ends, axes):
        for begin, end, axis in zip(begins, ends, axes):
            x = x.narrow(axis, begin, min(end, x.shape[axis]) - begin)
        return x
    return {
        "Add": lambda a: torch.add, "Sub": lambda a: torch.sub, "Mul": lambda a: torch.mul, "Div": lambda a: torch.div,
        "MatMul": lambda a: torch.matmul, "Relu": lambda a: torch.relu, "Sigmoid": lambda a: torch.sigmoid, "Tanh": lambda a: torch.tanh,
        "Sqrt": lambda a: torch.sqrt, "Softplus": lambda a: F.softplus, "LeakyRelu": lambda a: lambda x: F.leaky_relu(x, a["alpha"]),
        "Gather": lambda a: lambda x, index: x[index], "Softmax": lambda a: lambda x: torch.softmax(x, a["axis"]),
        "InstanceNormalization": lambda a: lambda x, scale, bias: F.instance_norm(x, weight=scale, bias=bias, eps=a["epsilon"]),
        "ReduceMean": lambda a: lambda x: x.mean(a["axes"], keepdim=True), "ReduceSum": lambda a: lambda x, axes: x.sum(axes, keepdim=True),
        "Concat": lambda a: lambda *xs: torch.cat(xs, a["axis"]), "Transpose": lambda a: lambda x: x.permute(a["perm"]),
        "Slice": lambda a: sliced, "Pad": padded, "Resize": lambda a: lambda x, _, scales: x.repeat_interleave(int(scales[2]), 2)
        .repeat_interleave(int(scales[3]), 3), "Reshape": lambda a: lambda x, shape: x.reshape([x.shape[0], *shape[1:]]),
        "Conv": lambda a: lambda x, w, b=None: F.conv2d(x, w, b, a["strides"], a["pads"][:2], 1, a["group"]),
        "ConvTranspose": lambda a: lambda x, w, b=None: F.conv_transpose2d(x, w, b, a["strides"], a["pads"][:2], a["output_padding"],
                                                                           a["group"]),
        "AveragePool": lambda a: lambda x: F.avg_pool2d(x, a["kernel_shape"], a["strides"], a["pads"][:2]),
        "MaxPool": lambda a: lambda x: F.max_pool2d(x, a["kernel_shape"], a["strides"], a["pads"][:2])}


def pytorch(model: str, threads: int, precision: str):
    """Runs the file's operators one by one, as a module's forward does: eager PyTorch."""
    import onnx
    import torch
    torch.set_num_threads(threads)
    graph, known, values = onnx.load(model).graph, operators(), {"": None}
    for one in graph.initializer:
        array = onnx.numpy_helper.to_array(one)
        values[one.name] = array.tolist() if array.dtype == numpy.int64 else torch.from_numpy(array.copy())
    steps = []
    for node in graph.node:
        if node.op_type not in known:
            sys.exit(f"gangway: this table of operators has no {node.op_type}")
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        steps.append((known[node.op_type](attributes), list(node.input), node.output[0]))

    @torch.inference_mode()
    def compute(inputs):
        found = {**values, **{name: torch.from_numpy(array) for name, array in inputs.items()}}
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            for function, names, output in steps:
                found[output] = function(*(found[name] for name in names))
        return found[graph.output[0].name].float().numpy()
    return compute, f"PyTorch {torch.__version__}"


def told_of(line, compute) -> dict:
    """Computes all inputs and writes the outputs, or times the first `batch`. Returns the seconds of each call."""
    inputs = load_file(line.inputs)

    def computed(first: int):
        return compute({name: array[first:first + line.batch] for name, array in inputs.items()})
    if line.made:
        size = len(next(iter(inputs.values())))
        save_file({"output": numpy.concatenate([computed(first) for first in range(0, size, line.batch)])}, line.made)
        return {}
    computed(0)  # a first call also allocates
    times, end = [], time.perf_counter() + line.seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        computed(0)
        times.append(time.perf_counter() - begin)
    return {"seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("engine", choices=("onnxruntime", "openvino", "pytorch"))
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--made")
    line = parser.parse_args()
    try:
        compute, version = globals()[line.engine](line.model, line.threads, line.precision)
        told = told_of(line, compute)
    except ModuleNotFoundError as lacking:
        sys.exit(f"gangway: {lacking.name} is not installed: ./launch/setup deploy installs it")
    except Exception as error:  # engines raise types of their own
        sys.exit(f"gangway: {' '.join(str(error).split())[:300] or type(error).__name__}")
    print(json.dumps({"version": version, **told, "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
