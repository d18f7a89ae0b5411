# SPDX-License-Identifier: MIT
"""What `gangway publish` and `gangway verify` know of a published folder."""
import hashlib
import json
import os
import re
from pathlib import Path

from gangway.errors import Failed, complaints
from gangway.launch import program
from gangway.tools import measured, replay
from gangway.tools.recorded import said_by

FORMAT = 1  # of config.json
CONFIG, JOB, WEIGHTS, ONNX, PICTURES = "config.json", "job.yaml", "model.safetensors", "generator.onnx", "samples.png"
CHECKPOINT = "checkpoints/step-{:09}"
# A Python class, as job/keys/python_call.cpp reads it: nets.py:Net, or package.module:Net; or a map written as text.
CLASS = re.compile(r"\.py(:|$)|^\s*\{|^python:|^(/.*/|[^:]*/|)[A-Za-z_]\w*(\.[A-Za-z_]\w*)+:[A-Za-z_][\w.]*$")


def sha256_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def own_code(job: dict, before: str = "") -> str:
    """Returns the first key that names code of a user's; empty: there is none."""
    for name, value in job.items():
        key = f"{before}{name}"
        if isinstance(value, dict) and "python" not in value:
            found = own_code(value, f"{key}.")
        else:
            is_code = key in ("model.library", "training.step") and value not in (None, "none")
            found = key if is_code or isinstance(value, dict) or CLASS.search(str(value)) else ""
        if found:
            return found
    return ""


def translates(job: dict) -> bool:
    """Returns whether the generator takes pictures."""
    return job["model"]["family"] in ("unet", "cyclegan", "johnson")


def sample_words(job: dict, seeds: str) -> list[str]:
    return ["--seeds", seeds, *([] if translates(job) or job["model"]["family"] == "mlp" else ["--captions"])]


def without_weights(job: dict) -> list[str]:
    """Returns keys that leave out files which the networks began with."""
    sections = [name for name, section in job.items() if isinstance(section, dict) and "optimizer" in section and "weights" in section]
    return [f"{name}.weights=none" for name in sections]


def versions() -> str:
    return " ".join(said_by("--version").split())


def trained_on(folder: Path, config: dict, steps: int, scratch: Path, keys) -> dict:
    """Trains `steps` steps from the checkpoint on one worker. Returns "steps", "digest" and "arithmetic".
    Raises Failed if that fails."""
    job, checkpoint, last = folder / JOB, folder / CHECKPOINT.format(config["step"]), config["step"] + steps
    facts = measured.prepared(job, keys)
    kimg = (config["images"] + steps * facts["images_per_step"]) / 1000
    words = [program(), "run", job, *replay.one_group(facts), *replay.PLAIN, *measured.PLAIN, f"training.kimg={kimg}", *keys,
             "--resume", checkpoint, "--outdir", scratch / "runs", "--run", "trained", "-n", 1, "--progress", "lines"]
    done = measured.output_of([str(word) for word in words], dict(os.environ))
    trained = next((scratch / "runs").glob(f"*-trained/{CHECKPOINT.format(last)}/manifest.json"), None)
    if done.code != 0 or not trained:
        why = (complaints(done.text.splitlines()) or [f"the training did not reach step {last}"])[-1]
        raise Failed(f"{checkpoint}: cannot be trained on: {why}", done.code or 5)
    return {"steps": steps, "digest": said_by("digest", f"{trained.parents[2]}@{last}").split()[0],
            "arithmetic": json.loads(trained.read_text())["software"].get("arithmetic", "")}
