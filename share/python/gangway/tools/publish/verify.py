# SPDX-License-Identifier: MIT
"""`gangway verify` checks a folder of `gangway publish`. It trusts nothing in the folder, and runs no code of it."""
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

from gangway import job_file
from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.tools.command_line import Parser, counted, say, whole_number
from gangway.tools.measured import output_of, prepared, scratch_folder
from gangway.tools.publish.folder import (CHECKPOINT, CONFIG, FORMAT, JOB, ONNX, PICTURES, TRAINING, WEIGHTS, has_noise, own_code, processor,
                                          sample_words, sha256_of, trained_on, translates, versions, without_weights)
from gangway.tools.recorded import begun, said_by

UNUSABLE = 5           # exit code (docs/run-directory.md)
MOST_BYTES = 16 << 20  # of config.json and job.yaml
MOST_APART = 2         # of 255: an engine may round otherwise
ENGINES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
FIELDS = {"seeds": "[0-9][0-9,-]*", "network": r"\w+", "digest": "[0-9a-f]{32}", "processor": ".*", "made_by": ".*"}


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
        names, training = set(config["files"]), config.get("training")
        is_known = config["format"] == FORMAT and type(config["step"]) is type(config["images"]) is int
        is_known &= all(re.fullmatch(pattern, config[key]) for key, pattern in FIELDS.items())
        if not is_known or (training and not (type(training["steps"]) is int and isinstance(training.get("arithmetic", ""), str))):
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        _refuse(file, "is no config.json of gangway publish: damaged, of a newer version, or another program's")
    known = {JOB, WEIGHTS, ONNX, PICTURES}
    if strange := sorted(name for name in names - known if not (training and TRAINING.fullmatch(name))):
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


def _job(folder: Path, config: dict) -> dict:
    """Reads job.yaml. Raises Failed if it names code, or is not the checkpoint's."""
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
    return job


def _levels(file: Path):
    """Returns a PNG's shades, 0 to 255, as [C, H, W]."""
    import numpy as np
    from PIL import Image
    try:
        with Image.open(file, formats=["PNG"]) as picture:
            shades = np.asarray(picture, dtype=np.int16)
    except Exception as error:  # a damaged picture may raise anything
        _refuse(file, f"is no picture: {error}")
    return shades[None] if shades.ndim == 2 else shades.transpose(2, 0, 1)


def _begin(folder: Path, config: dict, job: dict, keys, scratch: Path) -> Path:
    """Returns a run that begins with the published weights, grown if they are."""
    from safetensors.numpy import load_file, save_file
    try:
        tensors = load_file(folder / WEIGHTS)
    except Exception as error:  # a damaged file may raise anything
        _refuse(folder / WEIGHTS, f"is damaged: {error}")
    save_file({f"{config['network']}/{name.replace('.', '/', 1)}": values for name, values in tensors.items()}, scratch / WEIGHTS)
    grown = [f"training.growth.from={job['model']['resolution']}"] if "growth" in job["training"] and config["images"] else []
    begun(folder / JOB, scratch / WEIGHTS, scratch / "begun", [*keys, *grown], str(folder / WEIGHTS))
    return scratch / "begun"


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


def _run_engines(folder: Path, job: dict, inputs: int, run: Path, scratch: Path) -> None:
    """Computes pictures in each engine, and compares them with `gangway sample`'s, or with the first engine's."""
    import numpy as np
    random, model = np.random.default_rng(0), job["model"]
    noise = random.standard_normal((4, inputs)).astype(np.float32)
    given = {"noise": noise}
    if translates(job):
        given = {"image": random.uniform(-1, 1, (2, model["channels"], *[model["resolution"]] * 2)).astype(np.float32)}
    if model.get("classes"):
        given["labels"] = np.arange(4) % model["classes"]
    np.savez(scratch / "inputs.npz", **given)
    np.save(scratch / "noise.npy", noise)
    reference, of = None, "gangway sample"
    if has_noise(job):
        said_by("sample", run, "--noise", scratch / "noise.npy", "--single", scratch / "single")
        reference = np.stack([_levels(file) for file in sorted((scratch / "single").iterdir())])
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")]))
    for module, name in ENGINES.items():
        if not importlib.util.find_spec(module):
            say(f"note   {ONNX}: {name} is not installed; ./launch/setup deploy adds it")
            continue
        words = [sys.executable, "-P", "-m", "gangway.tools.publish.engines", module, folder / ONNX, scratch / "inputs.npz", scratch / "output.npy"]
        done = output_of([str(word) for word in words], {**os.environ, "PYTHONPATH": path})
        if done.code != 0:
            _refuse(folder / ONNX, f"{name}: {(complaints(done.text.splitlines()) or [f'its process ended with {done.code}'])[-1]}")
        made = ((np.load(scratch / "output.npy") + 1) * 127.5).clip(0, 255).round()
        if not np.isfinite(made).all() or (reference is not None and made.shape != reference.shape):
            _refuse(folder / ONNX, f"{name}: its output is not finite, or of another size than that of {of}")
        apart = 0.0 if reference is None else abs(made - reference).max()
        if apart > MOST_APART:
            _refuse(folder / ONNX, f"{name}: differs from {of} by {apart:.0f} of 255")
        say(f"ok     {ONNX}: {name}, " + ("finite" if reference is None else f"{apart:.0f} of 255 from {of}"))
        reference, of = (made, name) if reference is None else (reference, of)


def _compare_digest(folder: Path, config: dict) -> None:
    place, digest = CHECKPOINT.format(config["step"]), said_by("digest", f"{folder}@{config['step']}").split()[0]
    if digest != config["digest"]:
        _refuse(folder / place, f"has digest {digest}, and {CONFIG} {config['digest']}")
    say(f"ok     {place}: digest {digest}")


def _train(folder: Path, config: dict, steps: int, keys, scratch: Path) -> None:
    training = config.get("training") or {"steps": 0}
    if steps != training["steps"]:
        raise Failed(f"--train {steps}: {folder / CONFIG} has the digest of {training['steps']} steps"
                     + ("" if training["steps"] else ": it was published without them"))
    digest, arithmetic = trained_on(folder, config, steps, scratch, keys)
    place, what = CHECKPOINT.format(config["step"]), f"{counted(steps, 'step')} from step {config['step']} give digest {digest}"
    if digest == training.get("digest"):
        return say(f"ok     {place}: {what}")
    if arithmetic == training.get("arithmetic"):
        _refuse(folder / place, f"{what}, and {CONFIG} has {training.get('digest')}")
    say(f"note   {place}: {what}, on another kind of processor, of which {training.get('digest')} is not promised (docs/numerics.md)")


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
    job = checked(_job, folder, config) if not lines else None
    asked = [*without_weights(job), *keys] if job else []
    facts = checked(prepared, folder / JOB, asked) if job else None
    job = facts["job"] if facts else None  # every key
    run = checked(_begin, folder, config, job, asked, scratch) if facts else None
    if not run:
        return lines
    say(f"ok     {counted(len(config['files']), 'file')}: SHA-256")
    if translates(job) and not keys:
        say(f"note   {PICTURES}: not made again, for it takes pictures; give data.source=...")
    else:
        checked(_pictures, folder, config, job, run, scratch)
    checked(_run_engines, folder, job, facts["inputs"], run, scratch)
    if config.get("training"):
        checked(_compare_digest, folder, config)
    if steps and not lines:
        checked(_train, folder, config, steps, asked, scratch)
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
