# SPDX-License-Identifier: MIT
"""Replays one step of a run in PyTorch alone, and compares it bit by bit (docs/reference-step.md). step.py runs a step; passes.py has
the losses and gradients, update.py the optimisers, data.py the examples, philox.py the random numbers."""
