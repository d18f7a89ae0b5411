# SPDX-License-Identifier: MIT
"""Computes an ONNX file in one engine, in a process of its own, because an engine may crash.

    python -m gangway.tools.publish.engines onnxruntime|openvino FILE.onnx INPUTS.npz OUTPUT.npy
"""
import sys

import numpy as np


def computed(engine: str, file: str, inputs: dict) -> np.ndarray:
    if engine == "onnxruntime":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    import openvino
    return openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)[0]


def main() -> int:
    engine, file, inputs, output = sys.argv[1:]
    try:
        np.save(output, computed(engine, file, dict(np.load(inputs))))
    except Exception as error:  # engines raise types of their own
        print(f"gangway: {' '.join(str(error).split())[:300] or type(error).__name__}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
