# SPDX-License-Identifier: MIT
"""GPU features beyond plain training, as steps of tests/gpu/run: figures on which host and device cooperate, commands that
inspect a run, and networks and steps in Python. No row is a time measurement, so the groups may run in parallel.
"""
import json
import os
import re
from pathlib import Path

import trainings as whole
from harness import Failure, Skip, Step
from trainings import SOURCE

OUT_OF_MEMORY = 6
SAME = {  # keys that change no bit
    "audited updates": (2, ("layout.audit=true", "layout.check_steps=2")),
    "histograms": (2, ("output.histograms_kimg=1",)),
    "activation checkpointing": (1, ("layout.recompute=true",)),
    "examples kept on the GPU": (1, ("data.cache=auto",)),
    "a bound on the gradient's norm": (2, ("training.divergence.gradient_norm=100000",)),
    "device: auto": (1, ("numerics.device=auto",)),
}
ALIKE = {  # separate jobs, on one and on two workers
    "fp16 with a loss scale": ("numerics.precision=fp16",),
    "fp16, clipping": ("numerics.precision=fp16", "generator.clip_norm=0.05", "discriminator.clip_norm=0.05"),
    "ADA": ("training.augment.policy=ada", "training.augment.kimg=5"),
    "DiffAugment": ("training.augment.policy=diffaugment",),
    "growth": ("model.family=progressive", "model.width=16", "model.latent=32", "training.growth.from=8",
               "training.growth.kimg=0.5", "training.growth.fade_kimg=0.5", "training.loss=wasserstein"),
    "BigGAN": ("model.family=biggan", "model.width=16", "model.attention=16", "model.classes=10", "training.loss=hinge"),
    "VAE-GAN": ("training.recipe=vae-gan",),
    "InfoGAN": ("training.recipe=infogan", "model.codes=2", "model.categories=10"),
}
OF_NO_FAMILY = ("model.family=null", "model.width=null", "model.resolution=28", "model.latent=64")
NETWORKS = (*OF_NO_FAMILY, "model.generator={python: nets.py:Generator, latent: 64, width: 64}",
            "model.discriminator={python: nets.py:Discriminator, dropout: 0.2}", "training.loss=hinge")
OWN_STEP = (*OF_NO_FAMILY, "model.generator=r3gan.py:Generator", "model.discriminator=r3gan.py:Discriminator")


def feature_steps(trainings):
    return [
        *(Step("G", "same", f"training: {what}", 8 + 2 * workers, whole.equal_digest(trainings, workers, *overrides))
          for what, (workers, overrides) in SAME.items()),
        *(Step("G", "alike", f"training on 1 and 2 workers: {what}", 20, alike(trainings, *overrides))
          for what, overrides in ALIKE.items()),
        Step("G", "tools", "parts of the device's step", 10, parts(trainings)),
        Step("G", "tools", "gangway evaluate and sample --device cuda", 35, scored(trainings)),
        Step("G", "tools", "evaluation.where: device", 25, scored_on_the_way(trainings)),
        Step("G", "tools", "gangway replay", 20, replayed(trainings)),
        Step("G", "tools", "gangway profile, plan, layout.plan", 40, planned(trainings)),
        Step("G", "tools", "out of the GPU's memory", 15, out_of_memory(trainings)),
        Step("G", "tools", "gangway doctor", 10, doctor(trainings)),
        Step("G", "python", "networks in Python, on 1 and 2 workers", 40, in_python(trainings, alike, *NETWORKS)),
        Step("G", "python", "a step in Python, on 1 and 2 workers", 40,
             in_python(trainings, alike, *OWN_STEP, "training.step={python: r3gan.py:R3GAN, gamma: 1.0}")),
        Step("G", "python", "a step in Python, captured", 40,
             in_python(trainings, captured, *OWN_STEP, "training.step={python: captured.py:R3GAN, gamma: 1.0}")),
    ]


def alike(trainings, *overrides, **environment):
    def show(bench):
        digests = [trainings.digest_of(bench, workers, *overrides, **environment) for workers in (1, 2)]
        if digests[0] != digests[1]:
            raise Failure(f"digest {digests[0]} on one worker, {digests[1]} on two")
        return f"digest {digests[0]}"
    return show


def parts(trainings):
    """The device's own times add up to its step."""
    def show(bench):
        run = trainings.train(bench, 1, "training.kimg=12", "output.tick_kimg=4")
        tick = trainings.ticks(run)[-1]
        told = tick["device_parts"]
        step = tick["seconds_per_kimg"] * 0.256
        shown = ", ".join(f"{name} {1000 * seconds:.2f}" for name, seconds in told.items() if seconds > 0)
        if not told or not 0 < sum(told.values()) < 1.2 * step:
            raise Failure(f"of a step of {1000 * step:.2f} ms: {shown or 'nothing'}")
        return f"of a step of {1000 * step:.2f} ms: {shown}", {"tick": tick}
    return show


def scored(trainings):
    """Runs on the GPU and on the CPU, whose last bits differ."""
    def show(bench):
        run = trainings.train(bench, 1)
        told = [json.loads(trainings.ask(bench, "evaluate", run, "--json", "--device", device, "--samples", 500, "--real",
                                         1000).splitlines()[-1])["score"] for device in ("cpu", "cuda")]
        if abs(told[0] - told[1]) > 0.01 * told[0]:
            raise Failure(f"FD-LeNet {told[0]:.3f} on the CPU, {told[1]:.3f} on the GPU")
        trainings.ask(bench, "sample", run, "--device", "cuda", "-o", f"{run}.png")
        if not (trainings.folder / f"{run}.png").read_bytes().startswith(b"\x89PNG"):
            raise Failure("gangway sample wrote no picture")
        return f"FD-LeNet {told[0]:.3f} on the CPU, {told[1]:.3f} on the GPU; a picture"
    return show


def scored_on_the_way(trainings):
    def show(bench):
        run, done = trainings.start(bench, 1, "evaluation.where=device", "evaluation.every_kimg=1", "evaluation.images=500")
        scores = re.findall(r"^score .*", done.require().output, re.MULTILINE)
        if len(scores) < 2:
            raise Failure(f"{len(scores)} scores of 2: {done.output.splitlines()[-1]}")
        if trainings.digest(bench, run) != trainings.reference(bench):
            raise Failure("scores have changed the training's digest")
        return "; ".join(" ".join(score.split()) for score in scores)
    return show


def replayed(trainings):
    def show(bench):
        run = trainings.train(bench, 2, "checkpoint.every_kimg=1")
        return trainings.ask(bench, "replay", run, "-n", 1).splitlines()[-1]
    return show


def planned(trainings):
    def show(bench):
        bench.run([trainings.gangway, "profile", "job.yaml", "--seconds", 5, "--anyway", "-o", "gpu.profile.json"],
                  cwd=trainings.folder).require()
        plan = bench.run([trainings.gangway, "plan", "job.yaml", "--profile", "gpu.profile.json", "--rows", 3],
                         cwd=trainings.folder).require()
        digest = trainings.digest_of(bench, 1, "layout.plan=gpu.profile.json")
        if digest != trainings.reference(bench):
            raise Failure(f"digest {digest} by the plan")
        return f"digest {digest}", {"plan": plan.output.splitlines()}
    return show


def out_of_memory(trainings):
    """Expects one line with a remedy, and its exit code."""
    def show(bench):
        _, done = trainings.start(bench, 1, "model.width=512", "training.batch=131072", "training.microbatches=1")
        told = next((line for line in done.output.splitlines() if "out of memory" in line), "")
        if done.code != OUT_OF_MEMORY or "training.microbatches" not in told:
            raise Failure(f"exit code {done.code}: {told or done.output.splitlines()[-1]}")
        return told
    return show


def doctor(trainings):
    def show(bench):
        told = bench.run([trainings.gangway, "doctor"], cwd=trainings.folder).output.splitlines()
        return next((line for line in told if "GPU" in line), "no line about GPUs"), {"lines": told}
    return show


def in_python(trainings, kind, *overrides):
    """Runs with the examples' files beside the job."""
    def show(bench):
        for folder, name in (("python", "nets.py"), ("own-step", "r3gan.py")):
            (trainings.folder / name).write_text((SOURCE / "examples" / folder / name).read_text())
        marked = re.sub(r"(@gangway\.phase\(.*)\)", r"\1, capture=True)", (trainings.folder / "r3gan.py").read_text())
        (trainings.folder / "captured.py").write_text(marked)
        environment = brought_python()
        _, done = trainings.start(bench, 1, *overrides, "training.kimg=0.256", **environment)
        if done.code != 0 and re.search(r"layout\.python", done.output):
            raise Skip(done.output.strip().splitlines()[-1])
        done.require()
        return kind(trainings, *overrides, **environment)(bench)
    return show


def brought_python():
    """Returns the environment of commands if tests/gpu/pack.py has brought a Python. Its PyTorch's libraries come first."""
    home = os.environ.get("GANGWAY_BROUGHT_PYTHON")
    if home is None:
        return {}
    libraries = next(Path(home).glob("lib/*/site-packages/torch/lib"))
    return {"VIRTUAL_ENV": home, "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def captured(trainings, *overrides, **environment):
    """Replayed and plain steps have one digest, on two workers too."""
    def show(bench):
        run = trainings.train(bench, 1, "numerics.cuda_graph=on", *overrides, **environment)
        if said := trainings.said(run, "steps are not recorded"):
            raise Failure(said)
        digests = [trainings.digest(bench, run),
                   trainings.digest_of(bench, 1, "numerics.cuda_graph=off", *overrides, **environment),
                   trainings.digest_of(bench, 2, *overrides, **environment)]
        if len(set(digests)) > 1:
            raise Failure(f"digest {digests[0]} played, {digests[1]} plain, {digests[2]} on two workers")
        return f"digest {digests[0]}"
    return show
