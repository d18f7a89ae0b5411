# SPDX-License-Identifier: MIT
"""`gangway init` writes a job for a set of pictures, or a file for Slurm, Kubernetes or Docker."""
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.tools.command_line import Parser, number, typed, whole_number, write_whole
from gangway.tools.init.job import init_job
from gangway.tools.init.manifests import KINDS, Manifest, require_places, seconds_of
from gangway.tools.measured import prepared

LONGEST_SHOWN = 60  # characters of a refused name in the error
WHAT = {"job": "A job file for a set of pictures, this machine and the time that you have",
        **{name: kind.what for name, kind in KINDS.items()}, "examples": "A folder with the example jobs"}


class Written(NamedTuple):
    text: str
    file: str  # named in the text; "-": standard output


def manifest(kind: str, job, keys=(), *, workers: int | None = None, nodes: int = 1, gpus_per_node: int = 0, time: str = "",
             grace: int = 120, image: str = "gangway", name: str | None = None, outdir="runs", file: str | None = None,
             made_by: str = "") -> Written:
    """Makes a manifest. @param kind  "slurm", "k8s" or "docker"; workers: None: layout.data, else one per GPU, else one per node
    @param time  limit: minutes, "12:00:00" or "2-12:00:00"; grace: seconds for a save before the end
    @param name  of the run; file: None: named after the run; made_by: the command that the text names
    Raises Failed for the job, or if nodes or GPUs do not fit the workers."""
    told = prepared(job, keys, workers=workers)
    if not workers:
        data = told["job"]["layout"]["data"]
        workers = nodes * max(1, gpus_per_node) if data == "auto" else data
        told = prepared(job, keys, workers=workers)
    seconds, name = seconds_of(time) if time else None, name or told["name"]
    if not re.fullmatch("[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", name):
        shown = name[:LONGEST_SHOWN] + "..." * (len(name) > LONGEST_SHOWN)
        raise Failed(f"run name {shown!r}: expected 1 to 64 of A-Z a-z 0-9 . _ - without a dot in front; give another --run")
    file = file or KINDS[kind].default_file(name)
    made = Manifest(told, name, os.path.abspath(job), workers, nodes, gpus_per_node, seconds, grace, image, os.path.abspath(outdir), file,
                    made_by)
    require_places(made)
    return Written(KINDS[kind].text(made), file)


def _require_free(file: str, may_be_there: bool, option: str) -> None:
    if not may_be_there and os.path.exists(file):
        raise Failed(f"{file} is there already: --force writes over it, {option} names another file")


def _write(file: str, text: str, then: str) -> None:
    """Writes the text, or prints it for "-". @param then  the command to type next"""
    if file == "-":
        return print(text, end="")
    write_whole(Path(file), text, "surrogateescape")  # paths are bytes
    print(f"{file}: look it over, then: {then}")


def _job(words: list[str]) -> None:
    parser = Parser("init job", WHAT["job"],
                    "Examples:\n  gangway init job photos.zip\n"
                    "  gangway init job photos/ --minutes 120 --resolution 64 -n 4 -o photos.yaml\n"
                    "  gangway init job faces.zip --recipe r3gan-ffhq64")
    parser.add_argument("source", metavar="FOLDER_OR_FILE", help="folder, ZIP or tar of pictures (docs/pictures.md)")
    parser.add_argument("--minutes", type=number(0.1, 10**6), default=30.0, help="time for the training (%(default)g)")
    parser.add_argument("--resolution", type=int, metavar="PIXELS", help="pixels a side, 32 or 64; default: as the pictures are")
    parser.add_argument("-n", "--workers", type=whole_number(1), metavar="N", help="workers; default: one a GPU, else one a core, up to 8")
    parser.add_argument("--recipe", metavar="NAME",
                        help="published recipe to use instead, as r3gan-ffhq64: its own networks, rates and length")
    parser.add_argument("--no-trial", action="store_false", dest="trial", help="do not measure its speed")
    parser.add_argument("-o", "--output", default="job.yaml", metavar="FILE", help="file to write (%(default)s); -: standard output")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    line = parser.parse_args(words)
    is_printed = line.output == "-"
    _require_free(line.output, line.force or is_printed, "-o")
    options = {name: value for name, value in vars(line).items() if name not in ("output", "force")}
    made = init_job(**options, file="job.yaml" if is_printed else shlex.quote(line.output), made_by=typed("init", "job", *words),
                    say=lambda text: print(text, end="", flush=True, file=sys.stderr if is_printed else sys.stdout))
    _write(line.output, made.text, f"{typed('run', line.output)} -n {made.workers}")


def _examples(words: list[str]) -> None:
    parser = Parser("init examples", WHAT["examples"], "Example: gangway init examples, then gangway run examples/ring8.yaml -n 2")
    parser.add_argument("folder", nargs="?", default="examples", help="folder to make (%(default)s)")
    folder = parser.parse_args(words).folder
    here = Path(__file__).resolve().parents  # share/gangway has them where it is installed, and else the checkout
    try:
        shutil.copytree(next((one / "examples" for one in here[4:6] if (one / "examples").is_dir()), here[4] / "examples"), folder)
    except OSError as error:
        raise Failed(f"{folder}: cannot be made: {error.strerror}; name another folder", ENVIRONMENT) from None
    print(f"{folder}: try: {typed('run', os.path.join(folder, 'ring8.yaml'))} -n 2")


def _manifest(name: str, words: list[str]) -> None:
    kind, parser = KINDS[name], Parser(f"init {name}", WHAT[name], f"Example: gangway init {name} job.yaml -n 4 --nodes 2 --time 12:00:00")
    parser.add_job("workers; default: layout.data, else one a GPU, else one a node")
    parser.add_argument("--nodes", type=whole_number(1), default=1, metavar="N", help="nodes to request (%(default)s)")
    parser.add_argument("--gpus-per-node", type=whole_number(0), default=0, metavar="N", help="GPUs of each node")
    parser.add_argument("--time", default="", help="time limit: minutes, 12:00:00 or 2-12:00:00")
    parser.add_argument("--grace", type=whole_number(5, 3600), default=120, metavar="SECONDS",
                        help="time for a save between the scheduler's warning and the end (%(default)s)")
    parser.add_argument("--image", default="gangway", metavar="NAME", help="container image (%(default)s)")
    parser.add_argument("--run", dest="name", metavar="NAME", help="name of the run; default: the job file's")
    parser.add_argument("--outdir", default="runs", metavar="FOLDER", help="folder of the runs (%(default)s)")
    parser.add_argument("-o", "--output", dest="file", metavar="FILE",
                        help="file to write; -: standard output; default: the run's name, or Dockerfile")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    line = vars(parser.parse_intermixed_args(words))
    may_be_there = line.pop("force")
    made = manifest(name, **line, made_by=typed("init", name, *words))
    _require_free(made.file, may_be_there or made.file == "-", "--output")
    _write(made.file, made.text, kind.then.format(shlex.quote(made.file)))
    if made.file != "-" and (todo := re.search("# (TODO: .*)", made.text)):
        print(f"note   {todo[1]}")


def command(words: list[str]) -> None:
    parser = Parser("init", "Write a job for a set of pictures, or what Slurm, Kubernetes or a builder of containers needs for a job",
                    "\n".join(f"{name:8} {what}" for name, what in WHAT.items())
                    + "\n\nExamples:\n  gangway init job photos.zip --minutes 30 -o photos.yaml\n"
                    "  gangway init slurm examples/fashion-mnist.yaml -n 4 --time 12:00:00\n"
                    "  gangway init k8s job.yaml --nodes 2 --gpus-per-node 8 --image registry/gangway:1\n"
                    "  gangway init docker job.yaml -o Dockerfile\n  gangway init examples")
    parser.add_argument("kind", choices=WHAT, help="file to write; gangway init KIND --help explains it")
    kind = parser.parse_args(words[:1]).kind
    {"job": _job, "examples": _examples}.get(kind, lambda rest: _manifest(kind, rest))(words[1:])
