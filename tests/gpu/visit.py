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
# PyTorch's steps with cuDNN's kernels found by timing them (as --tuned does) or by rules of thumb, free or deterministic.
CUDNN = {
    "by rule, deterministic, contiguous": (*FP32, *PLAIN, "--top", 8),
    "timed, deterministic, contiguous": (*FP32, "--deterministic", "--top", 8),
    "by rule, contiguous": (*FP32, "--no-benchmark"),
    "timed, contiguous": (*FP32, "--top", 8),
    "by rule, deterministic, channels-last": ("--microbatches", 4, "--graph", *PLAIN),
    "timed, deterministic, channels-last": ("--microbatches", 4, "--graph", "--deterministic"),
    "by rule, channels-last": ("--microbatches", 4, "--graph", "--no-benchmark"),
    "timed, channels-last": ("--microbatches", 4, "--graph"),
}
MODE_B = {"TORCH_CUDNN_USE_HEURISTIC_MODE_B": "1"}
STREAMS = {  # what recorded micro-batches as branches of a graph would gain
    "fp32, by rule, deterministic, 4 streams": (*FP32, *PLAIN, "--streams", 4),
    "bf16, by rule, deterministic": (*BF16, *PLAIN),
    "bf16, by rule, deterministic, 4 streams": (*BF16, *PLAIN, "--streams", 4),
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

COMPILED = "speed: PyTorch, torch.compile, bf16, one batch"
KILLED = [f"run: {what}" for what in LOSSES if what.endswith("killed")]
CUT_FIRST = f"training in 2 stages over NCCL: {next(iter(CUT))}"
# Groups and steps in the order in which they are taken.
ORDER = ["warm", "smoke", whole.REFERENCE, "training: plain launches", "smoke-2", "training: 2 stages over NCCL",
         "training: networks apart over NCCL", "cudnn", "streams", CUT_FIRST, "memory", "next", COMPILED, *KILLED]


def visit_steps(programs, trainings):
    first = (whole.REFERENCE,)
    steps = [Step("F", "smoke", f"smoke: {what}", seconds, googletest(programs, name))
             for what, name, seconds in SMOKE_KERNELS]
    steps += [Step("F", "smoke-2", "smoke: 2 workers over NCCL", 10,
                   whole.equal_digest(trainings, 2, "layout.overlap=across"), first)]
    steps += [Step("F", "cudnn", f"PyTorch, fp32: {what}", 9, whole.pytorch_speed(trainings, 200, *flags))
              for what, flags in CUDNN.items()]
    steps += [Step("F", "cudnn", "PyTorch, fp32: by cuDNN's mode B, deterministic, contiguous", 9,
                   whole.pytorch_speed(trainings, 200, *FP32, *PLAIN, **MODE_B))]
    steps += [Step("F", "streams", f"PyTorch, {what}", 9, whole.pytorch_speed(trainings, 200, *flags))
              for what, flags in STREAMS.items()]
    steps += [Step("F", "next", f"next: {what}", RATE_SECONDS, whole.speed(trainings, *overrides, seconds=RATE_SECONDS))
              for what, overrides in NEXT.items()]
    return steps + [
        Step("F", "next", "next: fp32, contiguous, by cuDNN's mode B; its digest twice", RATE_SECONDS + 16, mode_b(trainings)),
        Step("F", "next", "next: StyleGAN2 of 1024 pixels, 8 images at once", 25, large(trainings)),
        Step("F", "next", "next: kernels of plain steps, fp32, contiguous", 14, kernels(trainings)),
    ]


def mode_b(trainings):
    """Whether the kernels that it chooses are the same each time, and what they are worth."""
    def show(bench):
        digests = [trainings.digest_of(bench, 1, *CONTIGUOUS, **MODE_B) for _ in range(2)]
        rate, _, _ = whole.rate_of_run(trainings, bench, CONTIGUOUS, seconds=RATE_SECONDS, **MODE_B)
        if digests[0] != digests[1]:
            raise Failure(f"{rate:.0f} images/s; digest {digests[0]}, then {digests[1]}")
        return f"{rate:.0f} images/s; digest {digests[0]} twice", {"images_per_second": rate, "digest": digests[0]}
    return show


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
