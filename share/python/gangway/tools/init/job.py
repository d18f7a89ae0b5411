# SPDX-License-Identifier: MIT
"""Chooses a first job for a set of pictures, a machine and a time, with a reason for each choice (docs/init-job.md)."""
import functools
import json
import math
import os
import re
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gangway import job_file
from gangway.errors import Failed, complaints
from gangway.launch import program
from gangway.tools.command_line import counted
from gangway.tools.init.templates import filled
from gangway.tools.gpus import num_gpus
from gangway.tools.hosts import usable_cores
from gangway.tools.measured import measured_runs, output_of, step_figures

MOST_WORKERS = 8
MOST_LOOKED_AT = 2000      # pictures; enough of a large set
BATCH = 64
SMALL, LARGE = 32, 64      # pixels, as dcgan supports
WORTH_LARGE = 48           # pixels; below, LARGE shows nothing more
FEW = 500                  # pictures
ENOUGH_PICTURES = 20_000   # with fewer the discriminator memorises them (docs/training.md)
ENOUGH_OF_A_LABEL = 50     # with fewer, pictures of a label look like all labels
MOST_LABELS = 100
ENOUGH_FOR_A_SCORE = 200   # `gangway evaluate` compares two halves of the pictures
SCORES = 5                 # per training; each takes about 10 s of a core
NARROW, WIDTH, WIDE = 16, 32, 64
PLENTY = 12                # times kimg_to_see from which the network may be wider
SHARE_OF_TIME = 0.85       # left for training after start, pictures, checkpoints, other processes
SHARE_OF_TRIAL = 0.25      # of the time; a longer first trial rules out a second
MOST_KIMG = 25_000         # beyond this such networks do not improve
WARM_UP = 16               # steps of a trial
TRIAL = {"training": {"kimg": 2.56}, "output": {"tick_kimg": 0.512, "pictures_kimg": 0}, "checkpoint": {"every_kimg": 0}}


class Facts(NamedTuple):
    """Properties of a data set that the job depends on."""
    source: str          # absolute path of a folder or a file, or a pattern of tars
    pictures: int
    side: int            # pixels: the median of the shorter sides
    is_gray: bool        # all examined pictures are grey
    by_label: list[int]  # pictures per label; empty without labels


class Wishes(NamedTuple):
    minutes: float
    resolution: int | None
    workers: int
    has_gpu: bool


@dataclass
class Advice:
    resolution: int
    microbatches: int
    augments: bool
    width: int = WIDTH
    classes: int = 0  # 0: trains without labels
    kimg: float = 0.0
    trial: str = ""   # a line on the trial's result
    notes: list[str] = field(default_factory=list)  # a line each, for the user

    @property
    def kimg_to_see(self) -> int:
        """Returns the thousand pictures after which shapes appear (docs/commands.md)."""
        return 40 if self.resolution <= SMALL else 100


class NewJob(NamedTuple):
    text: str     # of the job file
    workers: int  # that the job is meant for


def rounded_down(value: float) -> float:
    """Rounds down to two significant digits; at least 1."""
    value = max(1.0, value)
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / unit + 1e-6) * unit


def facts_of(location: str) -> Facts:
    """Examines evenly spaced pictures. Raises Failed if there is none, or one is broken."""
    done = output_of([program(), "data", "check", f"images:{location}", "--json", "--most", str(MOST_LOOKED_AT)], dict(os.environ))
    lines = complaints(done.text.splitlines())
    if lines or done.code not in (0, 2):  # 2: a picture is broken
        raise Failed("\n".join(lines) or f"gangway data check ended with {done.code}", done.code)
    told = json.loads(done.text)
    if told["broken"]:
        raise Failed(f"{told['broken'][0]}: a training would end at it; 'gangway data check {location}' looks at all pictures")
    sides = [min(size["width"], size["height"]) for size in told["sizes"] for _ in range(size["images"])]
    return Facts(os.path.abspath(location), told["files"], statistics.median_high(sides), told["gray"] == told["images"],
                 [label["files"] for label in told["labels"]])


def advise(facts: Facts, wishes: Wishes) -> Advice:
    """Returns the job to try first. Raises Failed for wishes that it cannot meet."""
    if wishes.resolution not in (None, SMALL, LARGE):
        raise Failed(f"--resolution {wishes.resolution}: a first job has {SMALL} or {LARGE} pixels; for more begin with a published "
                     "recipe, as --recipe r3gan-ffhq256")
    if wishes.workers > BATCH:
        raise Failed(f"--workers {wishes.workers}: a batch of {BATCH} pictures has work for {BATCH}")
    advice = Advice(resolution=wishes.resolution or (LARGE if facts.side >= WORTH_LARGE else SMALL),
                    microbatches=max(2, 1 << (wishes.workers - 1).bit_length()), augments=facts.pictures < ENOUGH_PICTURES)
    if facts.pictures < FEW:
        advice.notes.append(f"{facts.pictures} pictures are few: expect variations of them; some thousand make a difference")
    labels = len(facts.by_label)
    if labels > MOST_LABELS or labels > 1 and min(facts.by_label) < ENOUGH_OF_A_LABEL:
        advice.notes.append(f"trains without its {labels} labels: the smallest has {min(facts.by_label)} pictures, and a label needs "
                            f"{ENOUGH_OF_A_LABEL} at least (model.classes={labels} trains with them)")
    elif labels > 1:
        advice.classes = labels
    advice.kimg, advice.trial = 4 * advice.kimg_to_see, "No trial was made: training.kimg is a guess."
    return advice


def kimg_in(wishes: Wishes, images_per_second: float) -> float:
    return images_per_second * wishes.minutes * 60 * SHARE_OF_TIME / 1000


def other_width(advice: Advice, wishes: Wishes, images_per_second: float, trial_seconds: float) -> int | None:
    """Returns a wider or narrower width for the time given. None: the width is right, or another trial takes too long."""
    if trial_seconds > SHARE_OF_TRIAL * 60 * wishes.minutes:
        return None
    kimg = kimg_in(wishes, images_per_second)
    return WIDE if kimg > PLENTY * advice.kimg_to_see else NARROW if kimg < advice.kimg_to_see else None


def set_length(advice: Advice, wishes: Wishes, images_per_second: float) -> None:
    """Sets the job's length from the trial, and adds a note if it is too short."""
    kimg, time_given = min(MOST_KIMG, kimg_in(wishes, images_per_second)), counted(wishes.minutes, "minute")
    advice.kimg = rounded_down(kimg)
    advice.trial = (f"A trial here: {images_per_second:.0f} pictures a second with {counted(wishes.workers, 'worker')} and width "
                    f"{advice.width}; some {advice.kimg:g} thousand in {time_given}.")
    if kimg < advice.kimg_to_see:
        advice.notes.append(f"little can be seen of {advice.resolution} pixels after {time_given} here: shapes appear after about "
                            f"{math.ceil(wishes.minutes * advice.kimg_to_see / kimg)} minutes"
                            f"{', or sooner with --resolution 32' if advice.resolution > SMALL else ''}")


def guess_note(advice: Advice, wishes: Wishes) -> str:
    """Returns the note for a job without a trial."""
    images_per_second = 800 if advice.resolution <= SMALL else 200  # in colour, augmented, width 32 (docs/commands.md)
    return (f"training.kimg={advice.kimg:g} is a guess, for no trial was made: on two quiet cores it takes about "
            f"{math.ceil(advice.kimg * 1000 / images_per_second / 60)} minutes, whatever --minutes says ({wishes.minutes:g}); "
            "without --no-trial it follows from --minutes")


def try_out(advice: Advice, facts: Facts, wishes: Wishes, say) -> None:
    """Measures the job, and perhaps one of another width, and sets the length."""
    def rate():
        say(f"trial   {counted(wishes.workers, 'worker')}, {advice.resolution} pixels, width {advice.width}: ")
        job = job_file.parse(job_text(advice, facts, wishes, "-", ""), "the job on trial")
        if advice.augments:
            job["training"]["augment"] = {"policy": "ada", "strength": 0.3}  # as later in training
        trial = {**job, **{section: {**job[section], **keys} for section, keys in TRIAL.items()}}
        found = BATCH / step_figures(measured_runs(trial, ["trial"], wishes.workers)[0].stats, WARM_UP).seconds
        say(f"{found:.0f} pictures a second\n")
        return found

    begin = time.monotonic()
    found = rate()
    if width := other_width(advice, wishes, found, time.monotonic() - begin):
        advice.width = width
        found = rate()
    set_length(advice, wishes, found)


quoted = functools.partial(json.dumps, ensure_ascii=False)  # a YAML string


def job_text(advice: Advice, facts: Facts, wishes: Wishes, file: str, made_by: str) -> str:
    """Returns the job file's text."""
    fewest = f"{min(facts.by_label):,}" if facts.by_label else ""
    is_scored = facts.pictures >= ENOUGH_FOR_A_SCORE

    def part(parts):
        return f"{rounded_down(advice.kimg / parts):g}"

    return filled(
        "job.yaml", SOURCE_TEXT=f"the {facts.pictures:,} pictures of {facts.source}", FILE=file, WORKERS=str(wishes.workers),
        COMMAND=made_by, TRIAL=advice.trial, RESOLUTION=str(advice.resolution),
        RESOLUTION_WHY=f"or {LARGE if advice.resolution == SMALL else SMALL}; the pictures have {facts.side} pixels on their shorter side "
                       "(median)",
        CHANNELS="1" if facts.is_gray else "3", CHANNELS_WHY="all are grey" if facts.is_gray else "colour", WIDTH=str(advice.width),
        WIDTH_WHY="channels next to the picture; " + {WIDE: "the time allows twice as many as usual", NARROW: "few, as the time is short",
                                                      WIDTH: "64 draws better, and takes 3 times as long"}[advice.width],
        CLASSES=str(advice.classes),
        CLASSES_WHY=f"sub-folders or dataset.json; the smallest has {fewest} pictures" if advice.classes
                    else "without its labels, some of which have too few pictures" if len(facts.by_label) > 1
                    else "no labels: all pictures lie in one folder; sub-folders would be labels",
        SOURCE=quoted(f"images:{facts.source}"), KIMG=f"{advice.kimg:g}",
        KIMG_WHY=f"each {max(1, advice.kimg * 1000 / facts.pictures):.0f} times; shapes appear after about {advice.kimg_to_see}",
        MICROBATCHES=str(advice.microbatches),
        AUGMENT="{policy: ada, kimg: 100}  # under 20,000 pictures: prevents memorising" if advice.augments
                else "{policy: none}  # as many pictures as these need none",
        BETAS="[0, 0.99]" if advice.augments else "[0.5, 0.999]", EMA="50" if advice.augments else "1000", CHECKPOINT_KIMG=part(10),
        KEEP_BEST=str(int(is_scored)),
        EVALUATION=f"{{every_kimg: {part(SCORES)}, metrics: [swd], images: 2048}}  # lower is better; it sees colours and needs no network"
                   if is_scored else f"{{every_kimg: 0}}  # no score: {ENOUGH_FOR_A_SCORE} pictures at least are needed for one",
        PICTURES_KIMG=part(25), TICK_KIMG=part(100), GRID=str(min(max(advice.classes, 8), 16)), DEVICE="cuda" if wishes.has_gpu else "cpu")


def published(name: str) -> Path:
    """Returns the file of a published recipe. Raises Failed if missing."""
    # Installed, this file is PREFIX/share/gangway/python/gangway/tools/init/job.py; in a checkout share/python/...
    places = [Path(__file__).resolve().parents[up] / "examples/published" for up in (4, 5)]
    recipes = {file.stem: file for place in places for file in sorted(place.glob("*.yaml"))}
    if name not in recipes:
        raise Failed(f"--recipe {name}: there is none; there are {', '.join(recipes) or f'none in {places[0]}'}")
    return recipes[name]


def with_source(recipe: str, source: str) -> str:
    """Returns the recipe with `source` in place of PATH in its data.source."""
    return re.sub(r"(\ndata:.*?)(\w+:)PATH", lambda found: found[1] + quoted(found[2] + source), recipe, count=1, flags=re.DOTALL)


def init_job(source, *, minutes: float = 30.0, resolution: int | None = None, workers: int | None = None, recipe: str | None = None,
             trial: bool = True, file: str = "job.yaml", made_by: str = "", say=lambda text: None) -> NewJob:
    """Makes a job. @param source  folder, ZIP, tar or tar pattern; resolution, workers: None: auto; trial: measures the job's speed
    @param recipe  a published one, used instead; file, made_by: named in the job's first lines; say: gets what `gangway init job` prints
    Raises Failed for the pictures or wishes, or with the last words of a failed trial."""
    source, gpus = str(source), num_gpus()
    wishes = Wishes(minutes, resolution, workers or min(gpus or usable_cores(), MOST_WORKERS), gpus > 0)
    if recipe:
        first = re.sub(r"\{(\d+)\.\.\d+\}", r"\1", source)  # of a pattern of tars
        if not os.path.exists(first):
            raise Failed(f"{first}: there is no such folder or file")
        return NewJob(with_source(published(recipe).read_text("utf-8"), os.path.abspath(source)), wishes.workers)
    facts = facts_of(source)
    advice = advise(facts, wishes)
    say(f"data    {facts.source}: {facts.pictures} pictures, {facts.side} pixels (median of the shorter sides), "
        f"{'grey' if facts.is_gray else 'colour'}{f', {len(facts.by_label)} labels' if facts.by_label else ''}\n")
    if trial:
        try_out(advice, facts, wishes, say)
    else:
        advice.notes.append(guess_note(advice, wishes))
    for note in advice.notes:
        say(f"note    {note}\n")
    return NewJob(job_text(advice, facts, wishes, file, made_by), wishes.workers)
