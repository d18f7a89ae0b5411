# SPDX-License-Identifier: MIT
"""Networks that are cut and apart on a GPU, as steps of tests/gpu/run: their digests, their losses, their memory."""
import json
import os
import shutil
import signal
import subprocess
import time

from harness import Failure, Skip, Step

WORKER_LOST = 3
TIMEOUT = 5  # seconds that a worker waits for another
# Of jobs that lose no worker: a hang is shown with its place, and costs no second and third start.
ENDS_AT_ONCE = ("layout.timeout_seconds=20", "layout.restarts=0")
# Which way tensors of passes go from worker to worker. Workers that share a GPU take the way through the hosts' memory
# unless the job says nccl.
STAGED, OVER_NCCL = "through memory of the hosts", "over NCCL"
NCCL = "layout.transport=nccl"
STAGES = ("layout.stages=2", NCCL)
APART = ("layout.generator=[1]", "layout.discriminator=[2]")
DIVIDED = {
    "2 stages, through the host": (2, STAGED, ("layout.stages=2",)),
    "2 stages over NCCL": (2, OVER_NCCL, STAGES),
    "networks apart, through the host": (2, STAGED, APART),
    "networks apart over NCCL": (2, OVER_NCCL, (*APART, NCCL)),
    "2 stages in a V, in turns, over NCCL": (2, OVER_NCCL, (*STAGES, "layout.placement=v", "layout.schedule=1f1b")),
    "2 stages over NCCL, weights' gradients apart": (2, OVER_NCCL, (*STAGES, "layout.schedule=zero-bubble")),
    "2 stages over NCCL, one micro-batch in flight": (2, OVER_NCCL, (*STAGES, "layout.in_flight=1")),
    "2 stages over NCCL on 4 workers": (4, OVER_NCCL, STAGES),
    "4 stages over NCCL": (4, OVER_NCCL, ("layout.stages=4", NCCL)),
}
CUT = {  # jobs with arithmetic of their own, so often in two stages; the first hung once, and came to its end 5 of 5 times since
    "R1, clipping": (2, "training.r1.gamma=2", "model.activation=softplus", "generator.clip_norm=0.05",
                     "discriminator.clip_norm=0.05"),
    "gradient penalty": (1, "training.loss=wasserstein",),
    "R3GAN": (1, "model.family=r3gan", "model.width=32", "model.latent=64", "training.loss=relativistic",
              "training.r1.gamma=0.5", "training.r2.gamma=0.5"),
    "StyleGAN2": (1, "model.family=stylegan2", "model.width=16", "model.latent=64", "training.r1.gamma=0.1",
                  "training.path_length.weight=2", "training.path_length.interval=2"),
    "labels, dropout, bf16": (1, "model.classes=10", "model.dropout=0.3", "numerics.precision=bf16"),
}
LOSSES = {  # the dead first: who is named for them was wrong once
    "one of 2 stages is killed": (2, STAGES, signal.SIGKILL),
    "one of 2 networks apart is killed": (2, (*APART, NCCL), signal.SIGKILL),
    "one of 4 in 2 stages is killed": (4, STAGES, signal.SIGKILL),
    "one of 2 stages is stopped": (2, STAGES, signal.SIGSTOP),
    "one of 2 networks apart is stopped": (2, (*APART, NCCL), signal.SIGSTOP),
    "one of 2 that share the data is stopped": (2, (NCCL,), signal.SIGSTOP),
}
WIDE = ("model.width=512", "training.batch=1024", "training.microbatches=8", "numerics.cuda_graph=off",
        "output.tick_kimg=1", "training.kimg=3")
MEMORY = {  # layouts of one wide job
    "1 worker": (1, ()),
    "2 stages": (2, STAGES),
    "2 stages, one micro-batch in flight": (2, (*STAGES, "layout.in_flight=1")),
    "4 stages, one micro-batch in flight": (4, ("layout.stages=4", NCCL, "layout.in_flight=1")),
}


def layout_steps(trainings):
    needs = ("training: 2 stages over NCCL",)
    return [
        *(Step("B", "divided", f"training: {what}", 5 + 3 * workers, divided(trainings, workers, way, *overrides))
          for what, (workers, way, overrides) in DIVIDED.items()),
        Step("B", "divided", "training: begun in 2 stages, gone on with networks apart", 20, moved(trainings), needs),
        *(Step("B", "cut", f"training in 2 stages over NCCL: {what}", 10 + 8 * times, cut(trainings, times, *overrides), needs)
          for what, (times, *overrides) in CUT.items()),
        *(Step("B", "losses", f"run: {what}", 12, lost(trainings, *loss), needs) for what, loss in LOSSES.items()),
        *(Step("B", "memory", f"memory: {what}", 15, memory(trainings, *layout), needs)
          for what, layout in MEMORY.items()),
    ]


def divided(trainings, workers, way, *overrides):
    """The job's reference with networks cut or apart, whose tensors go that way."""
    def show(bench):
        expected = trainings.reference(bench)
        run = trainings.train(bench, workers, *overrides)
        said = trainings.said(run, "tensors of passes go") or "nothing"
        digest = trainings.digest(bench, run)
        if digest != expected:
            raise Failure(f"digest {digest}, one worker's is {expected}; the log says of the tensors: {said}")
        if way not in said:  # where each worker has a GPU of its own nothing goes through the host
            raise (Skip if "over NCCL" in said else Failure)(f"tensors were to go {way}; the log says: {said}")
        return f"digest {digest}", {"digest": digest}
    return show


def moved(trainings):
    def show(bench):
        expected = trainings.reference(bench)
        run = trainings.train(bench, 2, *STAGES, "training.kimg=1")
        digest = trainings.digest_of(bench, 2, *APART, NCCL, "training.kimg=2", run=run)
        if digest != expected:
            raise Failure(f"digest {digest} in two layouts, {expected} on one worker")
        return f"digest {digest}"
    return show


def cut(trainings, times, *overrides):
    """A job of its own on one worker, and in two stages."""
    def show(bench):
        alone = trainings.digest_of(bench, 1, *overrides)
        for _ in range(times):
            digest = trainings.digest_of(bench, 2, *overrides, *STAGES, *ENDS_AT_ONCE)
            if digest != alone:
                raise Failure(f"digest {alone} on one worker, {digest} in two stages")
        return f"digest {alone}, {times} of {times} times"
    return show


def lost(trainings, workers, layout, how):
    """The run says so, and ends as it should."""
    def show(bench):
        run, victim = f"lost{trainings.count}", workers  # the last: it is the other stage, or the other network
        lost_at = []

        def lose(said):
            if not lost_at and "tick 2 " in said:
                ranks = json.loads((trainings.folder_of(run) / "placement.json").read_text())["ranks"]
                os.kill(ranks[victim]["pid"], how)
                lost_at.append(time.monotonic())
            return False

        _, done = trainings.start(bench, workers, *layout, "training.kimg=100000", f"layout.timeout_seconds={TIMEOUT}", "layout.restarts=0",
                                  run=run, stop_at=lose, seconds=60)
        if not lost_at:
            raise Failure(f"exit code {done.code} before anybody was lost")
        if done.code != WORKER_LOST:
            raise Failure(f"exit code {done.code}, not {WORKER_LOST}")
        error = json.loads((trainings.folder_of(run) / "error.json").read_text())
        if error["rank"] != victim:
            raise Failure(f"rank {error['rank']} was named, {victim} was lost")
        return f"exit {done.code}, rank {victim} named, {time.monotonic() - lost_at[0]:.1f} s after it was lost"
    return show


def memory_of_processes():
    """MiB on the GPU, by process."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    said = subprocess.run([command, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, timeout=20, check=False).stdout
    found = [line.split(",") for line in said.splitlines()]
    return [int(words[1]) for words in found if len(words) == 2 and words[1].strip().isdigit()]


def memory(trainings, workers, layout):
    """What its processes take of the GPU at most, the contexts of CUDA included."""
    def show(bench):
        most = []

        def look(_):
            used = sorted(memory_of_processes())
            if len(used) == workers and sum(used) > sum(most):
                most[:] = used
            return False

        trainings.train(bench, workers, *WIDE, *layout, *ENDS_AT_ONCE, stop_at=look)
        if not most:
            raise Skip("nvidia-smi does not tell the memory of processes here")
        return f"{', '.join(map(str, most))} MiB", {"mib": most}
    return show
