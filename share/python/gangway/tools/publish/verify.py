# SPDX-License-Identifier: MIT
"""`gangway verify` checks a folder of `gangway publish`. It trusts nothing in the folder, and runs no code of it."""
import hashlib
import importlib.util
import json
import os
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from gangway import job_file
from gangway.errors import ENVIRONMENT, UNUSABLE, Failed, complaints
from gangway.launch import program
from gangway.tools import measured, replay
from gangway.tools.command_line import Parser, counted, say, whole_number
from gangway.tools.exported import Exported, largest_difference, told_by
from gangway.tools.machine import processor
from gangway.tools.measured import prepared, scratch_folder
from gangway.tools.recorded import begun, said_by

FORMAT = 1             # of config.json
CONFIG, JOB, WEIGHTS, ONNX, PICTURES = "config.json", "job.yaml", "model.safetensors", "generator.onnx", "samples.png"
CHECKPOINT = "checkpoints/step-{:09}"
MOST_BYTES = 16 << 20  # of config.json and job.yaml
MOST_APART = 0.001     # of the largest value; engines that round otherwise were 6e-5 apart at most, over all families
EXAMPLES = 4           # that engines compute
DEADLINE = 600         # seconds that an engine may take
ENGINES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
TRAINING = re.compile(r"checkpoints/step-[0-9]{9}/(manifest\.json|worker-[0-9]{4}-of-[0-9]{4}\.safetensors)")
# A pattern for the JSON text of each value in config.json. That of a missing key is null.
FIELDS = {"format": str(FORMAT), "step": "[0-9]+", "images": "[0-9]+", "seeds": '"[0-9][0-9,-]*"', "network": r'"\w+"',
          "digest": '"[0-9a-f]{32}"', "processor": '".*"', "made_by": '".*"',
          "training": r'null|\{"steps": 0\}|\{"arithmetic": ".*", "digest": ".*", "steps": [0-9]+\}'}
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


def draw(run: Path, job: dict, seeds: str, file: Path, *more) -> None:
    """Writes the run's pictures of the seeds."""
    captions = [] if translates(job) or job["model"]["family"] == "mlp" else ["--captions"]
    said_by("sample", run, *more, "--seeds", seeds, *captions, "-o", file)


def without_weights(job: dict) -> list[str]:
    """Returns keys that leave out files which the networks began with."""
    return [f"{name}.weights=none" for name, section in job.items()
            if isinstance(section, dict) and "optimizer" in section and "weights" in section]


def versions() -> str:
    return " ".join(said_by("--version").split())


def trained_on(folder: Path, config: dict, steps: int, scratch: Path, keys) -> dict:
    """Trains `steps` steps from the checkpoint on one worker. Returns "steps", "digest" and "arithmetic". Raises Failed if that fails."""
    job, checkpoint, last = folder / JOB, folder / CHECKPOINT.format(config["step"]), config["step"] + steps
    facts = prepared(job, keys)
    kimg = (config["images"] + steps * facts["images_per_step"]) / 1000
    words = [program(), "run", job, *replay.one_group(facts), *replay.PLAIN, *measured.PLAIN, f"training.kimg={kimg}", *keys,
             "--resume", checkpoint, "--outdir", scratch / "runs", "--run", "trained", "-n", 1, "--progress", "lines"]
    done = measured.output_of([str(word) for word in words], dict(os.environ))
    trained = next((scratch / "runs").glob(f"*-trained/{CHECKPOINT.format(last)}/manifest.json"), None)
    if done.code != 0 or not trained:
        why = (complaints(done.text.splitlines()) or [f"the training did not reach step {last}"])[-1]
        raise Failed(f"{checkpoint}: cannot be trained on: {why}", done.code or UNUSABLE)
    return {"steps": steps, "digest": said_by("digest", f"{trained.parents[2]}@{last}").split()[0],
            "arithmetic": json.loads(trained.read_text())["software"].get("arithmetic", "")}


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
    weights = {f"{config['network']}/{name.replace('.', '/', 1)}": values for name, values in tensors.items()}
    (scratch / WEIGHTS).write_bytes(save(weights))
    grown = [f"training.growth.from={job['model']['resolution']}"] if "growth" in job["training"] and config["images"] else []
    begun(folder / JOB, scratch / WEIGHTS, scratch / "begun", [*keys, *grown], str(folder / WEIGHTS))
    return scratch / "begun", job, keys


def _compare_pictures(folder: Path, config: dict, job: dict, run: Path, scratch: Path) -> None:
    again = scratch / PICTURES
    draw(run, job, config["seeds"], again)
    if again.read_bytes() == (folder / PICTURES).read_bytes():
        return say(f"ok     {PICTURES}: made again of {WEIGHTS}, equal bytes")
    before, now = _levels(folder / PICTURES), _levels(again)
    apart = f"the largest difference is {abs(before - now).max()} of 255" if before.shape == now.shape else "it has another size"
    if before.shape != now.shape or (processor(), versions()) == (config["processor"], config["made_by"]):
        _refuse(folder / PICTURES, f"is not what {WEIGHTS} makes: {apart}")
    say(f"note   {PICTURES}: made again on another kind of processor, or by another version ({config['processor']}, {config['made_by']}): {apart}")


def _compare_engines(folder: Path, job: dict, run: Path, scratch: Path) -> None:
    """Computes examples with the weights and with the ONNX file in each engine, and compares them."""
    exported = Exported([run], folder / ONNX, scratch)
    if translates(job):
        inputs, shape = scratch / "inputs.safetensors", (EXAMPLES, job["model"]["channels"], *[job["model"]["resolution"]] * 2)
        inputs.write_bytes(save({"image": np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)}))
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


def _compare_training(folder: Path, config: dict, steps: int | None, keys, scratch: Path) -> None:
    """Compares the checkpoint's digest, and that after `steps` steps. None: trains none."""
    published, place = config.get("training"), CHECKPOINT.format(config["step"])
    if published:
        if (digest := said_by("digest", f"{folder}@{config['step']}").split()[0]) != config["digest"]:
            _refuse(folder / place, f"has digest {digest}, and {CONFIG} {config['digest']}")
        say(f"ok     {place}: digest {digest}")
    if not steps:
        return
    if steps != (count := published["steps"] if published else 0):
        raise Failed(f"--train {steps}: {folder / CONFIG} has the digest of {count} steps" + ("" if count else ": it was published without them"))
    trained = trained_on(folder, config, steps, scratch, keys)
    what = f"{place}: {counted(steps, 'step')} from step {config['step']} give digest {trained['digest']}"
    if trained["digest"] == published["digest"]:
        return say(f"ok     {what}")
    if trained["arithmetic"] == published["arithmetic"]:
        _refuse(folder, f"{what}, and {CONFIG} has {published['digest']}")
    say(f"note   {what}; {CONFIG} has {published['digest']}, of another kind of processor, whose digests may differ (docs/numerics.md)")


def problems_in(folder: Path, scratch: Path, keys=(), steps: int | None = None) -> list[str]:
    """Returns a line for each file that is wrong or does not load, and prints one for each that is right. Loads nothing of damaged files.
    @param steps  to train on; None: none. Raises Failed if the machine lacks something, or a signal came; OSError for a file elsewhere."""
    lines: list[str] = []

    def checked(check, *more):
        try:
            return check(*more)
        except OSError as error:
            if not error.filename or not Path(error.filename).is_relative_to(folder):  # as a full disk
                raise
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
        checked(_compare_pictures, folder, config, job, run, scratch)
    checked(_compare_engines, folder, job, run, scratch)
    checked(_compare_training, folder, config, None if lines else steps, all_keys, scratch)
    return lines


def command(words: list[str]) -> None:
    parser = Parser("verify", "Check a folder of gangway publish: hashes, weights, pictures made again, ONNX in each engine, training",
                    "Examples:\n  gangway verify faces-256\n  gangway verify faces-256 --train 4 data.source=images:faces.zip\n"
                    "No code of the folder runs. Exit code 5: a line names each file that is wrong.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that gangway publish wrote")
    parser.add_keys("keys of the job, as data.source=images:faces.zip")
    parser.add_argument("--train", type=whole_number(1), metavar="K", help="train K steps, as many as publish --training did, to its digest")
    line = parser.parse_intermixed_args(words)
    if not line.folder.is_dir():
        raise Failed(f"{line.folder}: there is no such folder")
    with scratch_folder() as scratch:
        if lines := problems_in(line.folder.absolute(), scratch, line.keys, line.train):
            raise Failed("\n".join(lines), UNUSABLE)
    say(f"{line.folder}: sound")
