# SPDX-License-Identifier: MIT
"""A TorchScript file as a network of a job (docs/python.md):

    model:
      generator: {python: torchscript.py:Loaded, file: /home/me/generator.pt}
"""
import hashlib
import io
from pathlib import Path

import torch
from torch import nn


class Loaded(nn.Module):
    """What torch.jit.save has written: its parameters are trained, and its buffers are part of the state.

    Each worker reads `file` at each start: the run keeps no copy. With `sha256` a start with another content is an error.
    """

    def __init__(self, file, sha256=""):
        super().__init__()
        content = Path(file).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if sha256 not in ("", found):
            raise ValueError(f"{file} has the SHA-256 {found}, not {sha256}")
        self.network = torch.jit.load(io.BytesIO(content))

    def forward(self, *tensors):
        with torch.jit.optimized_execution(False):  # the first call would have other bits than the later ones
            return self.network(*tensors)
