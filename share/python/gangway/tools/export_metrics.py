# SPDX-License-Identifier: MIT
"""Follows a run's stats.jsonl and sends each tick once to Weights & Biases or MLflow (docs/metrics.md). RUN/export-wandb.json or
RUN/export-mlflow.json records the remote id and the last step sent, so a resumed run continues the same remote run."""
import fcntl
import importlib
import json
import os
import signal
import sys
import threading
import time
import uuid

from gangway import job_file
from gangway.errors import ENVIRONMENT, UNUSABLE, Failed
from gangway.tools.command_line import Parser, plain
from gangway.tools.recorded import whole_run

LOOK_SECONDS = 1.0
TRACKERS = ("wandb", "mlflow")  # and their packages
AXES = ("step", "unix_seconds")  # of a tick, beside its metrics


def settings(job, name="", dot="."):
    """Returns the job's values by full key name, for the tracker's table."""
    if isinstance(job, dict) and job:
        return {key: inner for part, one in job.items() for key, inner in settings(one, f"{name}{dot}{part}".lstrip(dot), dot).items()}
    return {name: job} if name else {}


def flat(tick):
    """Returns a tick's numbers by name, as "exposed/generator/seconds"."""
    return {name: value for name, value in settings(tick, dot="/").items() if type(value) in (int, float)}


class Wandb:
    def __init__(self, client, run, project, remote_id, job):
        self.id = remote_id or uuid.uuid4().hex[:16]
        self.run = client.init(project=project, id=self.id, resume="allow", name=run.name, dir=str(run), config=settings(job))

    def send(self, tick, newest):
        """Sends a tick. W&B's steps never decrease: late scores go to the newest, with theirs."""
        metrics = flat({key: value for key, value in tick.items() if key not in AXES})
        if "scores" in tick:
            metrics = {**{key: value for key, value in metrics.items() if key != "kimg"}, "scores/step": tick["step"]}
        self.run.log(metrics, step=max(newest, tick["step"]))

    def end(self, code):
        self.run.finish(exit_code=code or 0)


class Mlflow:
    MOST = 1000  # metrics per call; MLflow's limit

    def __init__(self, client, run, project, remote_id, job):
        self.entities = importlib.import_module("mlflow.entities")
        self.client = importlib.import_module("mlflow.tracking").MlflowClient()
        self.id = remote_id
        if self.id is None:
            found = self.client.get_experiment_by_name(project)
            experiment = found.experiment_id if found else self.client.create_experiment(project)
            self.id = self.client.create_run(experiment, run_name=run.name, tags={"gangway.run": str(run)}).info.run_id
            parameters = [self.entities.Param(key, str(value)[:500]) for key, value in settings(job).items()]
            for first in range(0, len(parameters), 100):
                self.client.log_batch(self.id, params=parameters[first:first + 100])
        else:
            self.client.set_terminated(self.id, status="RUNNING")

    def send(self, tick, newest):
        when = int(1000 * tick.get("unix_seconds", time.time()))
        metrics = [self.entities.Metric(key, float(value), when, tick["step"]) for key, value in flat(tick).items()
                   if key not in AXES and (key != "kimg" or "scores" not in tick)]
        for first in range(0, len(metrics), self.MOST):
            self.client.log_batch(self.id, metrics=metrics[first:first + self.MOST])

    def end(self, code):
        if code is not None:
            self.client.set_terminated(self.id, status={0: "FINISHED", 75: "KILLED"}.get(code, "FAILED"))


class Sent:
    """Records each tick on disk before it is sent: a crash loses it at worst, never repeats it."""

    def __init__(self, run, to):
        self.path = run / f"export-{to}.json"
        self.lock = open(run / f".export-{to}.lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed(f"{run}: another export to {to} follows it: end that one first", ENVIRONMENT) from None
        try:
            known = json.loads(self.path.read_bytes())
            self.id, self.step, self.scored = known["id"], int(known["step"]), int(known["scored"])
        except FileNotFoundError:
            self.id, self.step, self.scored = None, 0, 0
        except (ValueError, LookupError, TypeError):
            raise Failed(f"{self.path}: is damaged; remove it, and the run is sent anew under another id") from None

    def has(self, tick):
        return tick["step"] <= (self.scored if "scores" in tick else self.step)

    def write(self, remote_id, step, scored):
        temporary = self.path.with_suffix(".tmp")
        with open(temporary, "w") as file:
            json.dump({"id": remote_id, "step": step, "scored": scored}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        self.id, self.step, self.scored = remote_id, step, scored


class Ticks:
    """Reads stats.jsonl, which a start of the run truncates at the step that it resumes from."""

    def __init__(self, run):
        self.path = run / "stats.jsonl"
        self.offset, self.last = 0, b""

    def new(self):
        """Returns ticks of lines added since the last call; all ticks if the file was truncated."""
        try:
            with open(self.path, "rb") as file:
                file.seek(max(0, self.offset - len(self.last)))
                if file.read(len(self.last)) != self.last:
                    self.offset, self.last = 0, b""
                    file.seek(0)
                data = file.read()
        except FileNotFoundError:
            return []
        lines = data[:data.rfind(b"\n") + 1].splitlines(keepends=True)
        if lines:
            self.offset += sum(map(len, lines))
            self.last = lines[-1]
        try:
            return [tick for tick in map(json.loads, lines) if tick["step"] >= 0]
        except (ValueError, LookupError, TypeError):
            raise Failed(f"{self.path}: a line is no tick: damaged", UNUSABLE) from None


def exit_code_of(run):
    """Returns the newest start's exit code; None: it still runs."""
    try:
        return json.loads((run / "status.json").read_bytes())["exit_code"]
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def client_of(to):
    try:
        return importlib.import_module(to)
    except ImportError as error:
        raise Failed(f"{to} is not installed for {sys.executable} ({error}): {sys.executable} -m pip install {to}, or name "
                     "another interpreter in GANGWAY_PYTHON") from None


def asked(to, call, *arguments):
    """Returns the client's answer. Turns any exception into a Failed of one line."""
    try:
        return call(*arguments)
    except Exception as error:
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        raise Failed(f"{to} has refused metrics ({words}); the same command resumes", ENVIRONMENT) from None


def export(run, options, stop):
    job = run / "job.yaml"
    if not job.exists() and not (run / "stats.jsonl").exists():
        raise Failed(f"{run}: is no directory of a run")
    client = client_of(options.to)
    sent = Sent(run, options.to)
    ticks = Ticks(run)
    if sent.id and exit_code_of(run) is not None and all(sent.has(tick) for tick in ticks.new()):
        print(plain(f"{run} has ended, and all of it was sent to {options.to}: id {sent.id}"))
        return
    ticks = Ticks(run)
    remote = asked(options.to, {"wandb": Wandb, "mlflow": Mlflow}[options.to], client, run, options.project, sent.id,
                   job_file.parse(job.read_text(), str(job)) if job.exists() else {})
    sent.write(remote.id, sent.step, sent.scored)
    print(plain(f"{run} to {options.to}, id {remote.id}, after step {sent.step}"), flush=True)
    number, code = 0, None
    while True:
        code = exit_code_of(run)  # read before the ticks, so that no later tick is missed
        for tick in ticks.new():
            if sent.has(tick):
                continue
            before = (sent.step, sent.scored)
            sent.write(remote.id, *((sent.step, tick["step"]) if "scores" in tick else (tick["step"], sent.scored)))
            try:
                asked(options.to, remote.send, tick, sent.step)
            except Failed:
                sent.write(remote.id, *before)
                raise
            number += "tick" in tick
        if code is not None or options.once or stop.wait(LOOK_SECONDS):
            break
    asked(options.to, remote.end, code)
    print(f"{number} ticks sent, up to step {sent.step}", flush=True)


def command(words: list[str]) -> None:
    parser = Parser("export-metrics", "Hand a run's metrics to Weights & Biases or MLflow, as they come",
                    "Example:\n  gangway export-metrics fashion-mnist --to wandb\n"
                    "It follows the run to its end, needs the tracker's own package, and sends nothing twice.\n"
                    "docs/metrics.md explains it.")
    parser.add_run()
    parser.add_argument("--to", choices=TRACKERS, required=True, help="experiment tracker")
    parser.add_argument("--project", default="gangway", metavar="NAME", help="project of W&B, experiment of MLflow (%(default)s)")
    parser.add_argument("--once", action="store_true", help="send the present metrics, then exit")
    line = parser.parse_args(words)
    run = whole_run(line.run, line.outdir, "metrics are of a run, not of a checkpoint: leave @{} out").resolve()
    stop, signals = threading.Event(), []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda came, _: (signals.append(came), stop.set()))
    try:
        export(run, line, stop)
    except OSError as error:
        raise Failed(str(error), ENVIRONMENT) from None
    if signals:
        sys.exit(128 + signals[0])
