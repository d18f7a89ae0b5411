# SPDX-License-Identifier: MIT
"""`gangway publish` writes a run as a folder in Hugging Face's layout, which `gangway verify` checks (docs/coming-from.md)."""
import json
import os
import re
import shutil
from pathlib import Path

from gangway import job_file
from gangway.errors import UNUSABLE, Failed
from gangway.opened import open_run
from gangway.tools.command_line import Parser, require_new_folder, say, typed, whole_number
from gangway.tools.machine import processor
from gangway.tools.measured import prepared, written_whole
from gangway.tools.publish.verify import (CHECKPOINT, CONFIG, FORMAT, JOB, ONNX, PICTURES, WEIGHTS, draw, own_code, problems_in, sha256_of,
                                          trained_on, translates, versions, without_weights)
from gangway.tools.recorded import reference_of, run_folder, said_by

HIDDEN = ".gangway-publish-"  # prefix of folders that are being written
# A line whose value is a path: "  source: images:/home/me/cats.zip".
PATH = re.compile(rb"(?m)^( *\w+: ['\"]?(?:[a-z]+:)*)/.*/(.*)$")
NO_FID = " It is not the FID, which uses the Inception network (docs/evaluation.md of Gangway)."
# The model card, with Hugging Face's header (https://huggingface.co/docs/hub/model-cards).
CARD = """---
{header}---

# {name}

![Pictures of seeds {seeds}](samples.png)

The {weights} weights of a {network} of family {family} at step {step}, after {images} images.

- Digest of the training state: `{digest}` (`gangway digest`).
- Trained on `{data}`. Published by {made_by} on {processor}.
{scores_text}
```python
import numpy, onnxruntime

generator = onnxruntime.InferenceSession("generator.onnx")
(output,) = generator.run(None, {{{examples}}})
```

`config.json` has inputs and ranges, `model.safetensors` the same weights alone, `job.yaml` the job that trained them. To check all of it:

```
gangway verify .
```
"""
TRAINING = """
`{checkpoint}` holds all networks, averages and optimizer state. To train on:

```
gangway run job.yaml --resume {checkpoint} --run NAME -n 2 data.source=images:FOLDER training.kimg=KIMG
```
"""


def _example(one: dict) -> str:
    """Returns an input of 16 examples, as Python."""
    if one["name"] == "labels":
        return f'"labels": numpy.arange(16) % {one["range"][1] + 1}'
    sizes = ", ".join(str(size if isinstance(size, int) else 256) for size in one["shape"][1:])
    return f'"{one["name"]}": numpy.random.{"randn" if one["name"] == "noise" else "rand"}(16, {sizes}).astype(numpy.float32)'


def card_of(name: str, license_name: str, config: dict) -> str:
    scores, task = config["scores"], "image-to-image" if config["inputs"][0]["name"] == "image" else "unconditional-image-generation"
    header = {"license": license_name, "library_name": "gangway", "pipeline_tag": task, "tags": ["gan", config["family"], "gangway", "onnx"]}
    if scores:
        metrics = [{"type": score["name"].lower(), "name": score["name"], "value": score["value"]} for score in scores]
        results = [{"task": {"type": task}, "dataset": {"name": config["data"], "type": config["data"]}, "metrics": metrics}]
        header["model-index"] = [{"name": name, "results": results}]
    lines = ("- {name} {value:.4g}, of {samples} examples.".format_map(score) + NO_FID * score["name"].startswith("FD") + "\n" for score in scores)
    text = CARD.format_map({**config, "name": name, "header": job_file.text_of(header, sort_keys=False, width=10**6),
                            "scores_text": "".join(lines), "examples": ", ".join(map(_example, config["inputs"]))})
    return text + (TRAINING.format(checkpoint=CHECKPOINT.format(config["step"])) if config.get("training") else "")


def _scores(run: Path, manifest: dict) -> list[dict]:
    """Returns "name", "value" and "samples" of the checkpoint's recorded scores, or else of those of `gangway evaluate`."""
    step = manifest["step"]
    try:
        told = json.loads((run / f"checkpoints/step-{step:09}.score.json").read_text())
        if told["checkpoint_id"] == manifest["checkpoint_id"]:
            return [{"name": one["metric"], "value": float(one["score"]), "samples": told["samples"]} for one in (told, *told.get("beside", []))]
    except (OSError, ValueError, LookupError, TypeError):
        pass
    say("scores the generator with gangway evaluate; --no-score leaves that out")
    told = json.loads(next(line for line in said_by("evaluate", run, "--step", step, "--json").splitlines() if line.startswith("{")))
    count = told.get("samples", told.get("pairs", told.get("pictures", 0)))
    named = {told["metric"]: told.get("score", told.get("covered")), told.get("kernel_metric", ""): told.get("kid"), "SWD": told.get("swd"),
             "precision": told.get("precision"), "recall": told.get("recall")}
    return [{"name": name, "value": value, "samples": count} for name, value in named.items() if value is not None]


def _inputs(job: dict, numbers: int) -> list[dict]:
    """Describes the ONNX file's inputs (docs/evaluation.md). @param numbers  of noise"""
    model = job["model"]
    if translates(job):
        return [{"name": "image", "type": "float32", "shape": ["batch", model["channels"], "height", "width"], "range": [-1, 1]}]
    labels = {"name": "labels", "type": "int64", "shape": ["batch"], "range": [0, model.get("classes", 0) - 1]}
    return [{"name": "noise", "type": "float32", "shape": ["batch", numbers], "distribution": "standard normal"},
            *([labels] if model.get("classes") else [])]


def _written(line, run: Path, checkpoint, job: dict, folder: Path) -> dict:
    """Writes the job, the generator and its pictures. Returns the content of config.json."""
    manifest, reference, family = checkpoint.manifest, f"{run}@{checkpoint.step}", job["model"]["family"]
    draw(run, job, line.seeds, folder / PICTURES, "--step", checkpoint.step)
    text = manifest["job_yaml"].encode()
    # Only the last names of paths, padded to as many bytes, because the ONNX file has the text, too.
    plain = text if line.training else PATH.sub(lambda found: (found[1] + found[2]).ljust(len(found[0])), text)
    (folder / JOB).write_bytes(plain)
    for name in (WEIGHTS, ONNX):
        told = said_by("checkpoints", "export", reference, "-o", folder / name)
    (folder / ONNX).write_bytes((folder / ONNX).read_bytes().replace(text, plain))
    weights, network = re.search(r"(average|last) weights of the (\S+) at step", told).groups()
    digest, *notes = said_by("digest", reference).splitlines()
    for note in notes:
        say(note)
    return {"format": FORMAT, "family": family, "network": network, "weights": weights, "step": checkpoint.step,
            "images": manifest["images"], "digest": digest, "inputs": _inputs(job, prepared(folder / JOB)["inputs"]),
            "output": {"name": "output", "type": "float32", "range": None if family == "mlp" else [-1, 1]}, "seeds": line.seeds,
            "data": re.sub(r"(^|:)/.*/", r"\1", str(job["data"]["source"])), "made_by": versions(), "processor": processor()}


def _publish(line, run: Path, checkpoint, job: dict, scratch: Path) -> None:
    folder = scratch / "new"
    folder.mkdir()
    config = _written(line, run, checkpoint, job, folder)
    if line.training:
        shutil.copytree(checkpoint.folder, folder / CHECKPOINT.format(checkpoint.step))
        config["training"] = {"steps": 0}
        if line.train_steps:
            say(f"trains {line.train_steps} steps, whose digest gangway verify --train {line.train_steps} repeats")
            config["training"] = trained_on(folder, config, line.train_steps, scratch, without_weights(job))
    try:
        scores = [] if line.no_score else _scores(run, checkpoint.manifest)
    except Failed as error:
        if error.code > 128:  # a signal
            raise
        scores = []
        say(f"note   the card has no score: {error.line}")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    config |= {"scores": scores, "files": {str(file.relative_to(folder)): sha256_of(file) for file in files}}
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    (folder / "README.md").write_text(card_of(line.output.absolute().name, line.license, config))
    for problem in problems_in(folder, scratch, [f"data.source={job['data']['source']}"]):
        raise Failed(problem.replace(str(folder), str(line.output)), UNUSABLE)


def command(words: list[str]) -> None:
    parser = Parser("publish", "Write a trained generator as a folder in Hugging Face's layout. Uploads nothing",
                    "Examples:\n  gangway publish faces -o faces-256 --license cc-by-4.0\n"
                    "  gangway publish faces@4000 -o faces-256 --training      with all that fine-tuning needs\n"
                    "Then: gangway verify faces-256 (docs/coming-from.md)")
    parser.add_run()
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to make; its name is the model's")
    parser.add_argument("--license", default="other", metavar="ID", help="Hugging Face's name of a license, as mit (%(default)s)")
    parser.add_argument("--seeds", default="0-15", help="seeds of samples.png, as 0-63 or 1,5,9 (%(default)s)")
    parser.add_argument("--no-score", action="store_true", help="leave the score out if the checkpoint has none yet")
    parser.add_argument("--training", action="store_true",
                        help="add the checkpoint: all networks, averages and optimizer state. It keeps the job's paths, as data.source")
    parser.add_argument("--train-steps", type=whole_number(0), default=4, metavar="N",
                        help="with --training: steps to train now, whose digest verify --train N repeats; 0: none (%(default)s)")
    line = parser.parse_args(words)
    require_new_folder(line.output)
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", line.license):
        raise Failed(f"--license {line.license}: Hugging Face's names are as mit, apache-2.0 or cc-by-4.0")
    reference = reference_of(line.run)
    run = Path(run_folder(reference.run, line.outdir))
    checkpoint = open_run(run).checkpoint(reference.step)
    job = job_file.parse(checkpoint.manifest["job_yaml"], str(checkpoint.folder))
    if key := own_code(job):
        raise Failed(f"{run}: {key} is code of yours, which is not published: see gangway checkpoints export")
    with written_whole(line.output, HIDDEN) as scratch:
        _publish(line, run, checkpoint, job, scratch)
    say(f"{line.output}: step {checkpoint.step} of {run}; uploaded nothing")
    if line.training:
        say(f"note   {JOB} and the checkpoint keep the job's paths, as data.source; without --training there are names alone")
    say(f"next   {typed('verify', os.fspath(line.output))}")
