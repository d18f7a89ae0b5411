# SPDX-License-Identifier: MIT
"""One step of a run, replayed in PyTorch alone and compared bit by bit (docs/reference-step.md). To be read from step.py on:
there is what a step does; passes.py has what networks learn from, update.py how they change, data.py and philox.py what is
drawn."""
