# SPDX-License-Identifier: MIT
"""`gangway verify` checks a folder of `gangway publish`. It trusts nothing in the folder, and runs no code of it."""
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from gangway import job_file
from gangway.errors import ENVIRONMENT, Failed
from gangway.tools.command_line import Parser, counted, say, whole_number
from gangway.tools.exported import Exported, largest_difference, told_by
from gangway.tools.machine import processor
from gangway.tools.measured import prepared, scratch_folder
from gangway.tools.publish.folder import (CHECKPOINT, CONFIG, JOB, ONNX, PICTURES, WEIGHTS, own_code, sample_words, sha256_of, trained_on,
                                          translates, versions, without_weights)
from gangway.tools.recorded import begun, said_by

UNUSABLE = 5           # exit code (docs/run-directory.md)
MOST_BYTES = 16 << 20  # of config.json and job.yaml
MOST_APART = 0.001     # of the largest value; engines that round otherwise were 6e-5 apart at most, over all families
EXAMPLES = 4           # that engines compute
DEADLINE = 600         # seconds that an engine may take
ENGINES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
TRAINING = re.compile(r"checkpoints/step-[0-9]{9}/(manifest\.json|worker-[0-9]{4}-of-[0-9]{4}\.safetensors)")
# Of config.json, as JSON. A missing key is null.
FIELDS = {"format": "1", "step": "[0-9]+", "images": "[0-9]+", "seeds": '"[0-9][0-9,-]*"', "network": r'"\w+"', "digest": '"[0-9a-f]{32}"',
          "processor": '".*"', "made_by": '".*"', "training": r'null|\{"steps": 0\}|\{"arithmetic": ".*", "digest": ".*", "steps": [0-9]+\}'}


def _refuse(file: Path, why: str):
    raise Failed(f"{file}: {why}", UNUSABLE)


def _text(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        _refuse(file, "is missing, or is no regular file")
    if file.stat().st_size > MOST_BYTES:
        _refuse(file, f"has more than {MOST_BYTES} bytes")
    return file.read_bytes().decode(errors="replace")


def _config(folder: Path) -> dict:
    """Reads config.json. Raises Failed if it is none, or names a file that is no part of such a folder."""
    file = folder / CONFIG
    try:
        config = json.loads(_text(file))
        names = config["files"].keys()
        is_known = all(re.fullmatch(wanted, json.dumps(config.get(key), sort_keys=True)) for key, wanted in FIELDS.items())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_known = False
    if not is_known:
        _refuse(file, "is no config.json of gangway publish: damaged, of a newer version, or another program's")
    known = {JOB, WEIGHTS, ONNX, PICTURES}
    if strange := sorted(name for name in names - known if not (config.get("training") and TRAINING.fullmatch(name))):
        _refuse(file, f"names the file {strange[0]!r}, which is no part of such a folder")
    if missing := sorted(known - names):
        _refuse(file, f"does not name {missing[0]}")
    return config


def _require_whole(folder: Path, name: str, wanted: str) -> None:
    file = folder / name
    if file.resolve() != folder.resolve() / name:
        _refuse(file, "is or is behind a link, which is refused")
    if not file.is_file():
        _refuse(file, "is missing")
    if sha256_of(file) != wanted:
        _refuse(file, f"its SHA-256 is not that of {CONFIG}: damaged, or changed")


def _plain(folder: Path, config: dict) -> list[str]:
    """Returns keys that leave out the weights that job.yaml began with. Raises Failed if it names code, or is not the checkpoint's."""
    text = _text(folder / JOB)
    if not text.replace("\n", "").isprintable():  # parsers of YAML take such characters for different things
        _refuse(folder / JOB, "has control characters")
    job = job_file.parse(text, str(folder / JOB))
    if key := own_code(job):
        _refuse(folder / JOB, f"{key} names code, which is not run")
    if config.get("training"):
        manifest = folder / CHECKPOINT.format(config["step"]) / "manifest.json"
        try:
            kept = json.loads(manifest.read_bytes())["job_yaml"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            kept = None
        if kept != text:
            _refuse(manifest, f"is damaged, or has another job than {JOB}")
    return without_weights(job)


def _levels(file: Path) -> np.ndarray:
    """Returns a PNG's shades, 0 to 255."""
    from PIL import Image
    try:
        with Image.open(file, formats=["PNG"]) as picture:
            return np.asarray(picture, dtype=np.int16)
    except Exception as error:  # a damaged picture may raise anything
        _refuse(file, f"is no picture: {error}")


def _begin(folder: Path, config: dict, keys, scratch: Path) -> tuple[Path, dict, list[str]]:
    """Begins a run with the published weights, grown if they are. Returns the run, its job with every key, and the keys for others."""
    keys = [*_plain(folder, config), *keys]
    job = prepared(folder / JOB, keys)["job"]
    try:
        tensors = load_file(folder / WEIGHTS)
    except Exception as error:  # a damaged file may raise anything
        _refuse(folder / WEIGHTS, f"is damaged: {error}")
    save_file({f"{config['network']}/{name.replace('.', '/', 1)}": values for name, values in tensors.items()}, scratch / WEIGHTS)
    grown = [f"training.growth.from={job['model']['resolution']}"] if "growth" in job["training"] and config["images"] else []
    begun(folder / JOB, scratch / WEIGHTS, scratch / "begun", [*keys, *grown], str(folder / WEIGHTS))
    return scratch / "begun", job, keys


def _pictures(folder: Path, config: dict, job: dict, run: Path, scratch: Path) -> None:
    again = scratch / PICTURES
    said_by("sample", run, *sample_words(job, config["seeds"]), "-o", again)
    if again.read_bytes() == (folder / PICTURES).read_bytes():
        return say(f"ok     {PICTURES}: made again of {WEIGHTS}, equal bytes")
    before, now = _levels(folder / PICTURES), _levels(again)
    apart = f"the largest difference is {abs(before - now).max()} of 255" if before.shape == now.shape else "it has another size"
    if before.shape != now.shape or (processor(), versions()) == (config["processor"], config["made_by"]):
        _refuse(folder / PICTURES, f"is not what {WEIGHTS} makes: {apart}")
    say(f"note   {PICTURES}: made again on another kind of processor, or by another version ({config['processor']}, {config['made_by']}): {apart}")


def _run_engines(folder: Path, job: dict, run: Path, scratch: Path) -> None:
    """Computes examples with the weights and with the ONNX file in each engine, and compares them."""
    exported = Exported([run], folder / ONNX, scratch)
    if translates(job):
        inputs, shape = scratch / "inputs.safetensors", (EXAMPLES, job["model"]["channels"], *[job["model"]["resolution"]] * 2)
        save_file({"image": np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)}, inputs)
    else:
        inputs = exported.inputs("inputs", "--seeds", f"0-{EXAMPLES - 1}")

    def made_by(engine: str) -> Path:
        made = scratch / f"{engine}.safetensors"
        told_by([*exported.words(engine, exported.onnx, "fp32", inputs, EXAMPLES, 1), "--made", made], DEADLINE)
        return made
    expected = made_by("gangway")
    for module, name in ENGINES.items():
        if not importlib.util.find_spec(module):
            say(f"note   {ONNX}: {name} is not installed; ./launch/setup deploy adds it")
            continue
        try:
            apart = largest_difference(made_by(module), expected)
        except Failed as error:
            if error.code > 128:  # a signal
                raise
            raise Failed(f"{exported.onnx}: {name}: {error.line}", max(error.code, UNUSABLE)) from None
        if apart > MOST_APART:
            _refuse(exported.onnx, f"{name}: differs from {WEIGHTS} by {apart:.2g} of the largest value")
        say(f"ok     {ONNX}: {name}, {apart:.0e} of the largest value from {WEIGHTS}")


def _compare_digest(folder: Path, config: dict) -> None:
    place, digest = CHECKPOINT.format(config["step"]), said_by("digest", f"{folder}@{config['step']}").split()[0]
    if digest != config["digest"]:
        _refuse(folder / place, f"has digest {digest}, and {CONFIG} {config['digest']}")
    say(f"ok     {place}: digest {digest}")


def _train(folder: Path, config: dict, steps: int, keys, scratch: Path) -> None:
    published = config.get("training") or {"steps": 0}
    if steps != published["steps"]:
        raise Failed(f"--train {steps}: {folder / CONFIG} has the digest of {published['steps']} steps"
                     + ("" if published["steps"] else ": it was published without them"))
    trained, place = trained_on(folder, config, steps, scratch, keys), CHECKPOINT.format(config["step"])
    what = f"{place}: {counted(steps, 'step')} from step {config['step']} give digest {trained['digest']}"
    if trained["digest"] == published["digest"]:
        return say(f"ok     {what}")
    if trained["arithmetic"] == published["arithmetic"]:
        _refuse(folder, f"{what}, and {CONFIG} has {published['digest']}")
    say(f"note   {what}, on another kind of processor, of which {published['digest']} is not promised (docs/numerics.md)")


def problems_in(folder: Path, scratch: Path, keys=(), steps: int | None = None) -> list[str]:
    """Returns a line for each file that is not what config.json says, or does not load, and prints one for what is right.
    Loads nothing of damaged files.
    @param keys  of the job, as data.source; steps: to train on, None: none
    Raises Failed if the machine lacks something, or a signal came."""
    lines: list[str] = []

    def checked(check, *more):
        try:
            return check(*more)
        except OSError as error:
            lines.append(f"{error.filename}: cannot be read: {error.strerror}")
        except Failed as error:
            if error.code == ENVIRONMENT or error.code > 128:
                raise
            lines.append(" ".join(error.line.split()))

    config = checked(_config, folder)
    for name, wanted in config["files"].items() if config else ():
        checked(_require_whole, folder, name, wanted)
    if lines or not (begin := checked(_begin, folder, config, keys, scratch)):
        return lines
    run, job, all_keys = begin
    say(f"ok     {counted(len(config['files']), 'file')}: SHA-256")
    if translates(job) and not keys:
        say(f"note   {PICTURES}: not made again, for it takes pictures; give data.source=...")
    else:
        checked(_pictures, folder, config, job, run, scratch)
    checked(_run_engines, folder, job, run, scratch)
    if config.get("training"):
        checked(_compare_digest, folder, config)
    if steps and not lines:
        checked(_train, folder, config, steps, all_keys, scratch)
    return lines


def command(words: list[str]) -> None:
    parser = Parser("verify", "Check a folder of gangway publish: hashes, weights, pictures made again, ONNX in each engine, training",
                    "Examples:\n  gangway verify faces-256\n  gangway verify faces-256 --train 4 data.source=images:faces.zip\n"
                    "No code of the folder runs. Exit code 5: a line names each file that is wrong.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that gangway publish wrote")
    parser.add_argument("keys", metavar="key=value", nargs="*", help="keys of the job, as data.source=images:faces.zip")
    parser.add_argument("--train", type=whole_number(1), metavar="K", help="train K steps, as many as publish --training did, to its digest")
    line = parser.parse_intermixed_args(words)
    if not line.folder.is_dir():
        raise Failed(f"{line.folder}: there is no such folder")
    with scratch_folder() as scratch:
        if lines := problems_in(line.folder.absolute(), scratch, line.keys, line.train):
            raise Failed("\n".join(lines), UNUSABLE)
    say(f"{line.folder}: sound")
