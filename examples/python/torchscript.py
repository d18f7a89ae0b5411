# SPDX-License-Identifier: MIT
"""Makes a TorchScript file a network of a job (docs/python.md):

    model:
      generator: {python: torchscript.py:Loaded, file: /home/me/generator.pt}
"""
import hashlib
import io
from pathlib import Path

import torch
from torch import nn


class Loaded(nn.Module):
    """Loads what torch.jit.save wrote. Its parameters are trained; its buffers belong to the state.

    Each worker reads `file` at each start, because the run keeps no copy. Raises ValueError if the
    content does not have the SHA-256 `sha256`, where this is given."""

    def __init__(self, file, sha256=""):
        super().__init__()
        content = Path(file).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if sha256 not in ("", found):
            raise ValueError(f"{file} has the SHA-256 {found}, not {sha256}")
        self.network = torch.jit.load(io.BytesIO(content))

    def forward(self, *tensors):
        with torch.jit.optimized_execution(False):  # else later calls have other bits
            return self.network(*tensors)
