# SPDX-License-Identifier: MIT
"""The rest of the first day: a job made from one's pictures, other settings, scores, plans, own networks, a cluster's script."""
import re
import shlex
import subprocess

import pictures
from data_steps import SMALL, drawn_side, image_job
from hour import ROOT, Problem, Skip
from result_steps import trained
from steps import step

PYTHON = ROOT / ".venv" / "bin" / "python"
EXAMPLES = ROOT / "examples"

# What a job says, what is typed over it, and whether that is right.
SETTINGS = [
    ("training: {augment: {policy: ada, target: 0.5, kimg: 50}}", "training.augment.policy=none", True),
    ("training: {augment: {policy: ada, target: 0.5, kimg: 50}}", "~training.augment", True),
    ("training: {augment: {policy: ada, target: 0.5}}", "training.augment.policy=null", True),
    ("training: {r1: {gamma: 1, interval: 16}}", "training.r1.gamma=0", True),
    ("training: {divergence: {policy: rollback, retries: 2}}", "training.divergence.policy=stop", True),
    ("generator: {optimizer: {adam: {lr: 1e-3, betas: [0.5, 0.9]}}}", "generator.optimizer.sgd.lr=0.1", True),
    ("evaluation: {every_kimg: 1, metrics: [swd, kid], decides: kid}", "evaluation.metrics=[swd]", True),
    ("checkpoint: {keep_best: 2, early_stop: {patience: 3}}", "checkpoint.keep_best=0", True),
    ("checkpoint: {keep_best: 2}", "~checkpoint.keep_best", True),
    ("", "training.r1.interval=4", False),
    ("", "evaluation.metrics=[pr]", False),
    ("", "training.augment.kimg=5", False),
]

FEATURES = """
import sys, torch
class Features(torch.nn.Module):
    def forward(self, images):
        return torch.nn.functional.adaptive_avg_pool2d(images.float(), 4).flatten(1)
torch.jit.trace(Features(), torch.zeros(2, 3, 8, 8)).save(sys.argv[1])
"""

NOISE = """
import numpy, sys
numpy.save(sys.argv[1], numpy.random.default_rng(0).standard_normal((6, int(sys.argv[2]))).astype(numpy.float32))
"""


def written_by_python(hour, text, *words):
    if not PYTHON.exists():
        raise Skip("no PyTorch")
    made = hour.call(PYTHON, "-W", "ignore", "-c", text, *words)
    if made.code != 0:
        raise Problem(f"Python: {made.described()}")


@step
def a_job_from_pictures(hour):
    for name in ("cats", "dogs"):
        pictures.write_folder(hour.random, hour.folder / "pets" / name, hour.random.randint(12, 60), drawn_side(hour, 24, 90))
    wanted = hour.random.choice([[], ["--resolution", 64], ["--minutes", 5], ["-n", 3]])
    hour.note(" ".join(map(str, wanted)))
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--no-trial", "-o", "pets.yaml", *wanted), 0)
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--no-trial", "-o", "pets.yaml"), 2, says="--force")
    hour.expect(hour.run("pets.yaml", "--dry-run", "-n", 2), 0)
    hour.expect(hour.run("pets.yaml", "-n", 2, *SMALL), 0)
    hour.expect(hour.call(hour.gangway, "init", "job", "nowhere", "-o", "other.yaml"), 2, says="nowhere")
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--recipe", "r3gan", "-o", "other.yaml"), 2, says="r3gan-")


@step
def settings_over_settings(hour):
    for job, typed, is_right in hour.random.sample(SETTINGS, 6):
        hour.job(f"model: {{family: dcgan, resolution: 32}}\n{job}\n", "settings.yaml")
        hour.expect(hour.run("settings.yaml", typed, "--dry-run"), 0 if is_right else 2, says=() if is_right else re.escape(typed))


@step
def scores_while_it_trains(hour):
    metrics = hour.random.choice(["[swd]", "[fd,pr]", "[kid,swd]"])
    hour.note(metrics)
    job = [*image_job(hour, "data.source=fashion-mnist", "data.limit=300", f"evaluation.metrics={metrics}",
                      "evaluation.images=100", "evaluation.every_kimg=0.016"), "--run", "mine"]
    told = hour.expect(hour.run(*job), 0).out
    first = {"[swd]": "SWD", "[fd,pr]": "FD-LeNet", "[kid,swd]": "KID-LeNet"}[metrics]
    if not re.search(rf"^score  step 3  {first} -?[\d.]+  best", told, re.M):
        raise Problem(f"no score {first} in:\n{told}")
    written_by_python(hour, FEATURES, "net.pt")
    own = ["evaluate", "mine", "--samples", 100, "--real", 200, "--features"]
    resize, name = hour.random.choice([("own", "FD-net.pt "), ("clean", "FD-net.pt-clean ")])
    if name not in hour.expect(hour.call(hour.gangway, *own, "net.pt", "--resize", resize), 0).out:
        raise Problem(f"no {name} with --resize {resize}")
    hour.expect(hour.call(hour.gangway, *own, "nowhere.pt"), 2, says="nowhere.pt")
    hour.job("no network", "text.pt")
    hour.expect(hour.call(hour.gangway, *own, "text.pt"), 2, says="text.pt")
    for wrong in ("evaluation.features=nowhere.pt", "evaluation.metrics=[fid]", "evaluation.every_kimg=-1"):
        hour.expect(hour.run(*job, wrong), 2, says="evaluation")


@step
def pictures_of_noise(hour):
    latent, _ = trained(hour)
    written_by_python(hour, NOISE, "z.npy", latent)
    sample = [hour.gangway, "sample", "mine"]
    hour.expect(hour.call(*sample, "--noise", "z.npy", "-o", "noise.png"), 0)
    frames = hour.random.randint(2, 5)
    hour.expect(hour.call(*sample, "--interpolate", "3,8", "--frames", frames, "--single", "way"), 0)
    if len(list((hour.folder / "way").iterdir())) != frames:
        raise Problem(f"not {frames} files in the folder")
    written_by_python(hour, NOISE, "wide.npy", latent + 1)
    hour.expect(hour.call(*sample, "--noise", "wide.npy", "-o", "other.png"), 2, says="wide.npy")
    hour.expect(hour.call(*sample, "--interpolate", "3", "-o", "other.png"), 2, says="interpolate|3")


@step
def a_plan_and_what_it_prints(hour):
    example = hour.random.choice(["conditional", "infogan", "fashion-mnist", "cyclegan"])
    cluster = hour.random.choice(sorted((EXAMPLES / "clusters").glob("*.yaml")))
    hour.note(f"{example} on {cluster.stem}")
    job = [EXAMPLES / f"{example}.yaml", "model.width=8"]
    hour.expect(hour.call(hour.gangway, "plan", *job), 2, says="profile")
    hour.expect(hour.call(hour.gangway, "profile", *job, "--seconds", 1, "-o", "p.json", *anyway(hour)), 0)
    planned = hour.expect(hour.call(hour.gangway, "plan", *job, "--profile", "p.json", "--cluster", cluster), 0, 2)
    if planned.code == 0 and (found := re.search(r"^Run it: (gangway run .*)$", planned.out, re.M)):
        words = shlex.split(found[1])[2:]
        if "cuda" not in found[1] and "--hostfile" not in words:
            hour.expect(hour.run(*words, "--dry-run"), 0)


def anyway(hour):
    """This machine has other things to do, and nobody looks at the figures."""
    return ["--anyway"] if "--anyway" in hour.call(hour.gangway, "profile", "--help").out else []


@step
def networks_of_ones_own(hour):
    if not PYTHON.exists():
        raise Skip("no PyTorch")
    made = hour.call(PYTHON, "-W", "ignore", EXAMPLES / "bring-your-own/make_networks.py", hour.folder)
    if made.code != 0:
        raise Problem(made.described())
    job = hour.job((EXAMPLES / "bring-your-own/job.yaml").read_text(), "own.yaml")
    few = ["training.kimg=0.128", "output.grid=2"]
    hour.expect(hour.run(job, *few, "-n", 1, "--run", "one"), 0)
    hour.expect(hour.run(job, *few, "-n", 2, "--run", "two"), 0)
    if hour.digest("one") != hour.digest("two"):
        raise Problem("two workers trained something else than one")
    file = hour.folder / "generator.pt"
    kept = file.read_bytes()
    how = hour.random.choice(["cut", "text", "other"])
    hour.note(how)
    file.write_bytes({"cut": kept[:len(kept) // 2], "text": b"no network", "other": (hour.folder / "discriminator.pt").read_bytes()}[how])
    hour.expect(hour.run(job, *few, "-n", 1, "--run", "three"), 2, says="generator")


@step
def a_script_for_slurm(hour):
    hour.job()
    hour.expect(hour.call(hour.gangway, "init", "slurm", "job.yaml", "-n", 2, "--time", "01:00:00"), 0)
    [script] = list(hour.folder.glob("*.sbatch")) + list(hour.folder.glob("*.sh"))
    subprocess.run(["bash", "-n", script], check=True)
    if f"--chdir={hour.folder}" not in script.read_text().replace('"', "").replace("'", ""):
        raise Problem(f"the script works in one folder alone:\n{script.read_text()}")
    hour.expect(hour.call(hour.gangway, "init", "slurm", "job.yaml", "-n", 0), 2, says="workers|-n")
    hour.expect(hour.call(hour.gangway, "init", "slurm", "job.yaml", "--time", "soon"), 2, says="time|soon")


@step
def a_rate_that_suits(hour):
    job = hour.job()
    found = hour.expect(hour.call(hour.gangway, "find-lr", job, "--steps", 60, "-n", 1), 0, 4)
    if found.code == 0 and not re.search(r"\d", found.out):
        raise Problem(f"no rate: {found.described()}")
    hour.expect(hour.call(hour.gangway, "find-lr", job, "--network", "judge"), 2, says="judge")


@step
def a_look_at_a_run(hour):
    trained(hour)
    for words in (["status"], ["events"], ["snapshots", "ls"], ["report"]):
        hour.expect(hour.call(hour.gangway, *words, "mine"), 0)
    hour.expect(hour.call(hour.gangway, "compare", "mine", "mine"), 0, 2)
    for words in (["status"], ["report"], ["pause"], ["set"], ["drain"]):
        more = {"set": ["output.tick_kimg=1"], "drain": ["host"]}.get(words[0], [])
        hour.expect(hour.call(hour.gangway, *words, "yours", *more), 2, 6, says="yours")
