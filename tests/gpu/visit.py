# SPDX-License-Identifier: MIT
"""What tests/gpu/run --parts visit shows on a machine that is there for ten minutes: what has been seen equal before in a
minute, then what says what to do next.
"""
import re

import trainings as whole
from harness import Failure, Step
from layouts import CUT, LOSSES
from steps import SMOKE_KERNELS, googletest

FP32 = ("--microbatches", 4, "--contiguous", "--graph")
BF16 = ("--microbatches", 4, "--autocast", "bf16", "--graph")
PLAIN = ("--deterministic", "--no-benchmark")  # what Gangway's default computes with
# Gangway's workers have cuDNN choose by it; without it, it goes by quicker rules.
MODE_B = {"TORCH_CUDNN_USE_HEURISTIC_MODE_B": "1"}
QUICK_RULES = {"TORCH_CUDNN_USE_HEURISTIC_MODE_B": "0"}
STREAMS = {  # PyTorch's steps: its best in fp32, and what recorded micro-batches as branches of a graph would gain
    "fp32, kernels timed": (FP32, {}),
    "fp32, deterministic": ((*FP32, *PLAIN), MODE_B),
    "fp32, deterministic, 4 streams": ((*FP32, *PLAIN, "--streams", 4), MODE_B),
    "bf16, deterministic": ((*BF16, *PLAIN), MODE_B),
    "bf16, deterministic, 4 streams": ((*BF16, *PLAIN, "--streams", 4), MODE_B),
}
NEXT = {  # ours, played
    "fp32, contiguous": ("numerics.memory_format=contiguous",),
    "fp32, channels-last": (),
    "TF32, channels-last": ("numerics.precision=tf32",),
    "bf16 in 4 pieces": ("numerics.precision=bf16",),
    "bf16 in one batch": ("numerics.precision=bf16", "training.microbatches=1"),
    "fastest, contiguous": ("numerics.kernels=fastest", "numerics.memory_format=contiguous"),
}
CONTIGUOUS = ("numerics.memory_format=contiguous",)
# The model of examples/published/stylegan2-ada-paper1024.yaml; pictures are enlarged.
LARGE = ("model.family=stylegan2", "model.resolution=1024", "model.width=32", "model.latent=512",
         "model.half_precision_sizes=4", "training.batch=8", "training.microbatches=1", "training.r1.gamma=2",
         "training.path_length.weight=2", "training.path_length.interval=2", "numerics.cuda_graph=off", "output.grid=1",
         "output.tick_kimg=0.008", "training.kimg=0.04")
TRACED = "20:24"
KERNELS_TOLD = 12
RATE_SECONDS = 11  # of a training whose rate is measured

KILLED = [f"run: {what}" for what in LOSSES if what.endswith("killed")]
CUT_FIRST = f"training in 2 stages over NCCL: {next(iter(CUT))}"
# Groups and steps in the order in which they are taken.
ORDER = ["warm", "smoke", whole.REFERENCE, "training: 2 stages over NCCL", CUT_FIRST, "memory", "next", "streams", "python",
         *KILLED]


def visit_steps(programs, trainings):
    steps = [Step("F", "smoke", f"smoke: {what}", seconds, googletest(programs, name))
             for what, name, seconds in SMOKE_KERNELS]
    steps += [Step("F", "streams", f"PyTorch, {what}", 16, whole.pytorch_speed(trainings, 200, *flags, **environment))
              for what, (flags, environment) in STREAMS.items()]
    steps += [Step("F", "next", f"next: {what}", RATE_SECONDS, whole.speed(trainings, *overrides, seconds=RATE_SECONDS))
              for what, overrides in NEXT.items()]
    return steps + [
        Step("F", "next", "next: fp32, contiguous, by cuDNN's quick rules", RATE_SECONDS,
             whole.speed(trainings, *CONTIGUOUS, seconds=RATE_SECONDS, **QUICK_RULES)),
        Step("F", "next", "next: StyleGAN2 of 1024 pixels, 8 images at once", 25, large(trainings)),
        Step("F", "next", "next: kernels of plain steps, fp32, contiguous", 14, kernels(trainings)),
    ]


def large(trainings):
    """What LibTorch's allocator had at most, in five steps with regularisers."""
    def show(bench):
        tick = trainings.ticks(trainings.train(bench, 1, *LARGE))[-1]
        return (f"{tick['peak_gib']:.1f} GiB at most, {tick['allocation_retries']} retries",
                {key: tick[key] for key in ("peak_gib", "allocated_gib", "allocation_retries")})
    return show


def kernels(trainings):
    """Traced steps are plain ones."""
    def show(bench):
        run = trainings.train(bench, 1, *CONTIGUOUS, "--trace", f"{TRACED},kernels", "training.kimg=8")
        said = trainings.ask(bench, "trace", run, "--top", KERNELS_TOLD, "--kernels")
        lines = [" ".join(line.split()) for line in said.splitlines() if re.search(r"\d", line)]
        if not lines:
            raise Failure("the trace has no kernels")
        return lines[0], {"lines": lines}
    return show
