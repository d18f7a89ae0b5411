# SPDX-License-Identifier: MIT
"""Computes an ONNX file in one engine, in a process of its own, because an engine may crash.

    python -m gangway.tools.publish.engines onnxruntime|openvino FILE.onnx INPUTS.npz OUTPUT.npy
"""
import sys

import numpy as np


def computed(engine: str, file: str, inputs: dict) -> np.ndarray:
    if engine == "openvino":
        import openvino
        return openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)[0]
    import onnxruntime
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, inputs)[0]


if __name__ == "__main__":
    try:
        np.save(sys.argv[4], computed(*sys.argv[1:3], dict(np.load(sys.argv[3]))))
    except Exception as error:  # engines raise types of their own
        sys.exit(f"gangway: {' '.join(str(error).split())[:300] or type(error).__name__}")
