# SPDX-License-Identifier: MIT
"""Trains stretches between a run's checkpoints again, by `gangway run` in a temporary folder, and compares the digests. Main thread."""
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import program
from gangway.tools.command_line import Parser, counted, whole_number
from gangway.tools.measured import heed, noted_requests, output_of, prepared, scratch_folder
from gangway.tools.recorded import checkpoints_of, is_under_way, said_by, whole_run

DIFFERENT = 1  # exit code
RUN = "replay"                 # name of the runs that train again
NOTE = "note   "
WORD = 2**64 - 1
# Keys that change no bit; they override the recorded job.
PLAIN = ["layout.plan=none", "layout.balance=off", "checkpoint.snapshot_steps=0", "output.control=off", "output.http=off",
         "output.pictures_kimg=0", "output.histograms_kimg=0"]


class Stretch(NamedTuple):
    first: int  # steps done at its two checkpoints; 0: before the job's first step
    last: int


class Proof(NamedTuple):
    stretch: Stretch
    recorded: str     # digest of the stretch's last checkpoint
    replayed: str
    seconds: float
    differences: str  # a line per tensor, then notes; empty if the digests are equal

    @property
    def is_same(self) -> bool:
        return self.recorded == self.replayed


class Replay(NamedTuple):
    run: str              # its directory
    proofs: list[Proof]   # by stretch; ends with the first that differs

    @property
    def is_proven(self) -> bool:
        return all(proof.is_same for proof in self.proofs)


def stretches_between(steps: list[int], first: int | None = None, last: int | None = None) -> list[Stretch]:
    """Returns the stretches to replay. Raises Failed if there is none. @param steps  of the checkpoints, ascending; first, last: as replay()"""
    if not steps:
        raise Failed("the run has no sound checkpoint to compare a replay with: train it with checkpoint.every_kimg, and a "
                     "checkpoint.keep that leaves them")
    if len(steps) == 1 and first is None:
        raise Failed(f"the run has only one checkpoint, of step {steps[0]}: --from 0 replays all of it; a larger checkpoint.keep "
                     "leaves more")
    first, last = steps[0] if first is None else first, steps[-1] if last is None else last
    for option, step in (("--from", first), ("--to", last)):
        if step not in steps and (option, step) != ("--from", 0):
            raise Failed(f"{option} {step}: there is no sound checkpoint of that step; there are {', '.join(map(str, steps))}")
    if first >= last:
        raise Failed(f"--from {first} --to {last}: a replay goes forward; name the earlier step first")
    ends = [step for step in steps if first < step <= last]
    return [Stretch(*ends_of) for ends_of in zip([first, *ends], ends)]


def mt19937_64(seed: int):
    """Yields std::mt19937_64's words (Nishimura, 2000, "Tables of 64-bit Mersenne Twisters")."""
    state = [seed]
    for place in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + place) & WORD)
    while True:
        for place in range(312):
            word = state[place] & 0xFFFFFFFF80000000 | state[(place + 1) % 312] & 0x7FFFFFFF
            word = state[place] = state[(place + 156) % 312] ^ word >> 1 ^ (0xB5026F5AA96619E9 if word & 1 else 0)
            word ^= word >> 29 & 0x5555555555555555
            word ^= word << 17 & 0x71D67FFFEDA60000
            word ^= word << 37 & 0xFFF7EEE000000000
            yield word ^ word >> 43


def drawn_stretches(stretches: list[Stretch], count: int, seed: int) -> list[Stretch]:
    """Returns `count` random stretches, or all, in their order. A seed always draws the same."""
    kept, random = list(stretches), mt19937_64(seed)
    while len(kept) > count:
        del kept[next(random) % len(kept)]  # the bias is negligible
    return kept


def _checkpoint(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:09}"


def _manifest_in(checkpoint: Path) -> dict:
    try:
        return json.loads((checkpoint / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        raise Failed(f"{checkpoint / 'manifest.json'}: cannot be read: {error}", 5) from None


def one_group(recorded: dict) -> list[str]:
    """Returns the keys that give each worker all networks. @param recorded  prepared()"""
    removed = [f"~layout.{place}{one['name']}" for one in recorded["networks"] for place in ("", "cuts.")]
    return ["layout.data=auto", "layout.stages=1", *removed, "layout.shares=auto"]


def _keys_for(checkpoint: Path, keys, on_one_group: bool) -> list[str]:
    """Returns the replay's keys. Raises Failed if keys or GANGWAY_ variables change the numbers."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GANGWAY_") or name == "GANGWAY_TRUST"}
    recorded = prepared(checkpoint, environment=plain)
    asked = [*(one_group(recorded) if on_one_group else []), *PLAIN, *keys]
    if prepared(checkpoint, asked)["fingerprint"] != recorded["fingerprint"]:
        raise Failed("a replay trains the recorded job: it takes only keys and GANGWAY_ variables that change no bit, as "
                     "layout.stages=2")
    return asked


def _train_again(recorded: Path, stretch: Stretch, folder: Path, keys, workers, hostfile) -> Path:
    """Trains one stretch in `folder`. Returns the run directory."""
    end, job = _checkpoint(recorded, stretch.last), folder / "job.yaml"
    job.write_text(_manifest_in(end)["job_yaml"])
    for kept in ("networks", "python"):  # copies of the user's files
        if (recorded / kept).is_dir():
            (folder / kept).symlink_to(recorded / kept)
    words = [program(), "run", str(job), *_keys_for(end, keys, bool(workers or hostfile)), "--outdir", f"{folder}/runs", "--run", RUN,
             "--replay", str(end), "--resume", str(_checkpoint(recorded, stretch.first)) if stretch.first else "never",
             *(["-n", str(workers)] if workers else []), *(["--hostfile", os.path.abspath(hostfile)] if hostfile else [])]
    done = output_of(words, dict(os.environ), insists=False)  # after one signal it frees its shared memory
    if done.code != 0:
        why = (complaints(done.text.splitlines()) or ["it said nothing"])[-1]
        raise Failed(f"steps {stretch.first} to {stretch.last} could not be trained again: {why}", done.code)
    for run in folder.glob(f"runs/*-{RUN}"):
        return run
    raise Failed(f"the replay left nothing in {folder}: is it shared by all hosts?", ENVIRONMENT)


def _notes(recorded: Path, stretch: Stretch, replayed: Path):
    """Yields notes on legitimate reasons why the states differ."""
    before, now = _manifest_in(_checkpoint(recorded, stretch.last)), _manifest_in(replayed)
    arithmetic = before["software"].get("arithmetic", "")
    if arithmetic and arithmetic != now["software"].get("arithmetic", ""):
        yield (f"{NOTE}the recorded state was made by processors or libraries of another arithmetic: equal bits were not promised "
               "(docs/numerics.md)\n")
    if stretch.first and _manifest_in(_checkpoint(recorded, stretch.first))["job_fingerprint"] != before["job_fingerprint"]:
        yield (f"{NOTE}the job changed between steps {stretch.first} and {stretch.last}: where it did so at a checkpoint that has been "
               "removed since, no replay can follow\n")


def _prove(recorded: Path, stretch: Stretch, keys, workers, hostfile) -> Proof:
    # Other hosts see the runs' folder, but not this host's temporary folder.
    with scratch_folder(str(recorded.parent) if hostfile else None) as folder:
        begin = time.monotonic()
        run = _train_again(recorded, stretch, folder, keys, workers, hostfile)
        seconds = time.monotonic() - begin
        before, *notes = said_by("digest", f"{recorded}@{stretch.last}").splitlines(keepends=True)
        now = said_by("digest", f"{run}@{stretch.last}").splitlines()[0]
        differences = ""
        if before.strip() != now:
            replayed = _checkpoint(run, stretch.last)
            tensors = said_by("checkpoints", "diff", _checkpoint(recorded, stretch.last), replayed, may_differ=True)
            differences = "".join([tensors, *_notes(recorded, stretch, replayed), *notes])
        return Proof(stretch, before.strip(), now, seconds, differences)


def _told(proof: Proof) -> str:
    steps = f"steps {proof.stretch.first} to {proof.stretch.last}"
    if proof.is_same:
        return f"{steps}: the same, {proof.replayed}, trained again in {proof.seconds:.1f} s\n"
    return f"{steps}: DIFFERENT, recorded {proof.recorded}, trained again {proof.replayed}\n{proof.differences}"


def replay(run, keys=(), *, first: int | None = None, last: int | None = None, audit: int | None = None, seed: int = 0,
           workers: int | None = None, hostfile=None, outdir="runs", say=lambda text: None) -> Replay:
    """Replays a run up to the first stretch that differs, and removes the runs that it trains.
    @param run  directory, or name of a run in `outdir`; keys: change no bit, as layout.stages=2; say: gets the lines on stretches
    @param first, last  steps of checkpoints; None: the oldest and newest; first 0: the job's start
    @param audit  number of stretches that `seed` draws; None: all; workers: None, without a hostfile: the recorded run's layout
    Raises Failed if there is nothing to replay, or a stretch cannot be trained again."""
    with noted_requests():
        folder = whole_run(run, outdir, "a replay has two ends: leave @{} out, and say --from and --to")
        if is_under_way(folder):
            raise Failed(f"{folder} is under way, and removes checkpoints as it goes: wait for its end, or say 'gangway stop {run}' first")
        checkpoints = checkpoints_of(folder)
        for step, damage in checkpoints.damaged.items():
            say(f"{NOTE}step-{step:09} is passed over: {damage}\n")
        stretches = stretches_between(checkpoints.sound, first, last)
        chosen = drawn_stretches(stretches, audit, seed) if audit else stretches
        found = Replay(str(folder), [])
        for stretch in chosen:
            proof = _prove(folder, stretch, keys, workers, hostfile)
            found.proofs.append(proof)
            say(_told(proof))
            heed()
            if not proof.is_same:
                break
    return found


def command(words: list[str]) -> None:
    parser = Parser("replay", "Train steps of a run again, on any layout, and compare with its checkpoints",
                    "Examples:\n  gangway replay fashion-mnist --from 1000 --to 2000 -n 1\n"
                    "  gangway replay fashion-mnist --audit 2 -n 2 layout.stages=2\n"
                    "Exit code 0: proven; 1: the first checkpoint that differs is named, and its tensors.")
    parser.add_run()
    parser.add_keys("keys that change no bit, as layout.stages=2")
    parser.add_argument("--from", type=int, dest="first", metavar="STEP", help="step of a checkpoint, or 0; default: the oldest checkpoint's")
    parser.add_argument("--to", type=int, dest="last", metavar="STEP", help="step of a checkpoint; default: the newest one's")
    parser.add_argument("--audit", type=whole_number(1), metavar="K",
                        help="replay K stretches between neighbouring checkpoints, drawn at random")
    parser.add_argument("--seed", type=whole_number(0, WORD), default=0, help="seed of the draws of --audit (%(default)s)")
    parser.add_argument("-n", "--workers", type=whole_number(1), metavar="N",
                        help="workers, each with all networks unless layout keys say otherwise; default: the layout that the run had")
    parser.add_argument("--hostfile", metavar="FILE", help="hosts, as 'node-a slots=8', for Open MPI")
    line = parser.parse_intermixed_args(words)
    found = replay(**vars(line), say=lambda text: print(text, end="", flush=True))
    stretches = [proof.stretch for proof in found.proofs]
    if not found.is_proven:
        first, last = stretches[-1]
        raise Failed(f"step {last} of {found.run} is not what its job makes of step {first}: take the state of step {first} for the last "
                     "good one, and look for bad memory or another build", DIFFERENT)
    which = f"{len(stretches)} stretches drawn with --seed {line.seed}" if line.audit else f"steps {stretches[0].first} to {stretches[-1].last}"
    print(f"proven: {which} of {found.run}, {counted(len(stretches), 'checkpoint')}")
