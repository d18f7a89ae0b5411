# SPDX-License-Identifier: MIT
"""Steps of tests/gpu/run --parts visit, for a machine that is available for ten minutes: first known results for a minute, then
steps that decide on the next work.
"""
import re

import trainings as whole
from harness import Failure, Step
from layouts import CUT, LOSSES
from steps import SMOKE_KERNELS, googletest

FP32 = ("--microbatches", 4, "--contiguous", "--graph")
BF16 = ("--microbatches", 4, "--autocast", "bf16", "--graph")
PLAIN = ("--deterministic", "--no-benchmark")  # equivalent to Gangway's default
MODE_B = {"TORCH_CUDNN_USE_HEURISTIC_MODE_B": "1"}  # Gangway's workers set it for cuDNN
STREAMS = {  # PyTorch's steps: its best in fp32, and the gain of micro-batches as branches of a graph
    "fp32, kernels timed": (FP32, {}),
    "fp32, deterministic": ((*FP32, *PLAIN), MODE_B),
    "fp32, deterministic, 4 streams": ((*FP32, *PLAIN, "--streams", 4), MODE_B),
    "bf16, deterministic": ((*BF16, *PLAIN), MODE_B),
    "bf16, deterministic, 4 streams": ((*BF16, *PLAIN, "--streams", 4), MODE_B),
}
NEXT = {  # Gangway's, replayed
    "fp32, contiguous": ("numerics.memory_format=contiguous",),
    "fp32, contiguous, in branches": ("numerics.memory_format=contiguous", "numerics.cuda_graph=branches"),
    "TF32, channels-last, in branches": ("numerics.precision=tf32", "numerics.cuda_graph=branches"),
    "bf16 in 4 pieces": ("numerics.precision=bf16",),
    "bf16 in 4 pieces, in branches": ("numerics.precision=bf16", "numerics.cuda_graph=branches"),
}
CONTIGUOUS = ("numerics.memory_format=contiguous",)
BRANCHED = {  # jobs with micro-batches as branches of a graph, beside the reference
    "as it is": (),
    "R1 in every other step on its way down, bf16": ("training.r1.gamma=1", "training.r1.interval=2", "numerics.precision=bf16",
                                                    "training.r1.schedule={decay: linear, final_factor: 0.1}"),
    "StyleGAN2-ADA with path lengths": ("model.family=stylegan2", "training.path_length.weight=2", "training.path_length.interval=2",
                                        "training.augment.policy=ada", "training.augment.kimg=5", "model.classes=10",
                                        "training.fake_labels=data"),
    "8 micro-batches": ("training.microbatches=8",),
    "fakes of the phase before": ("training.reuse_fakes=true",),
}
EIGHT_BUCKETS = ("layout.buckets=8",)  # a network of this size has one on a GPU
TRACED = "20:24"
KERNELS_TOLD = 12
RATE_SECONDS = 11  # of a measured training

KILLED = [f"run: {what}" for what in LOSSES if what.endswith("killed")]
CUT_FIRST = f"training in 2 stages over NCCL: {next(iter(CUT))}"
# The order of groups and steps.
ORDER = ["warm", "smoke", whole.REFERENCE, "training: 2 stages over NCCL", CUT_FIRST, "branches", "next", "streams", "memory", "python",
         *KILLED]


def visit_steps(programs, trainings):
    steps = [Step("F", "smoke", f"smoke: {what}", seconds, googletest(programs, name))
             for what, name, seconds in SMOKE_KERNELS]
    steps += [Step("F", "branches", f"training in branches: {what}", 12 if overrides else 6,
                   whole.recorded(trainings, "branches", *overrides)) for what, overrides in BRANCHED.items()]
    steps += [Step("F", "branches", f"training with its exchange beside recorded steps, {workers} worker{'s' * (workers > 1)}", seconds,
                   whole.recorded(trainings, "overlap", workers=workers, layout=(f"layout.overlap={overlap}", *EIGHT_BUCKETS)))
              for workers, overlap, seconds in ((1, "within", 6), (2, "across", 10))]
    steps += [Step("F", "streams", f"PyTorch, {what}", 16, whole.pytorch_speed(trainings, 200, *flags, **environment))
              for what, (flags, environment) in STREAMS.items()]
    steps += [Step("F", "next", f"next: {what}", RATE_SECONDS, whole.speed(trainings, *overrides, seconds=RATE_SECONDS))
              for what, overrides in NEXT.items()]
    return steps + [
        Step("F", "next", "next: kernels of plain steps, fp32, contiguous", 14, kernels(trainings)),
    ]


def kernels(trainings):
    """Traced steps are plain."""
    def show(bench):
        run = trainings.train(bench, 1, *CONTIGUOUS, "--trace", f"{TRACED},kernels", "training.kimg=8")
        said = trainings.ask(bench, "trace", run, "--top", KERNELS_TOLD, "--kernels")
        lines = [" ".join(line.split()) for line in said.splitlines() if re.search(r"\d", line)]
        if not lines:
            raise Failure("the trace has no kernels")
        return lines[0], {"lines": lines}
    return show
