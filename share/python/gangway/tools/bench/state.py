# SPDX-License-Identifier: MIT
"""Makes a job with a state of a given size: an mlp on points, which needs no data files."""
import math
from collections import namedtuple

from gangway import job_file

MEGABYTE = 1e6        # as disks are sold
LATENT, OUTPUTS = 100, 2
WORK_OF_A_STEP = 64_000  # images times megabytes: tenths of a second on two cores
MOST_IMAGES = 256


def percentile(values, p: float):
    """Returns a percentile by nearest rank."""
    return sorted(values)[max(1, math.ceil(p / 100 * len(values))) - 1]


Model = namedtuple("Model", "width batch state_bytes")


def model_of(megabytes: int) -> Model:
    """Returns the smallest mlp with such a state: weights, 2 moments, average, as floats."""
    width, state_bytes = 0, 0
    while state_bytes < megabytes * MEGABYTE:
        width += 2
        hidden = 2 * (width * width + width)
        generator = (LATENT + 1) * width + hidden + (width + 1) * OUTPUTS
        discriminator = (OUTPUTS + 1) * width + hidden + width + 1
        state_bytes = 4 * (4 * generator + 3 * discriminator)
    images = max(WORK_OF_A_STEP // megabytes, 2)
    return Model(width, min(1 << images.bit_length() - 1, MOST_IMAGES), state_bytes)


def job_text(megabytes: int, workers: int, **sections) -> str:
    """Returns the job file. @param workers  share its micro-batches; sections: more keys"""
    model, microbatches = model_of(megabytes), max(2, workers)
    batch = max(model.batch // microbatches, 1) * microbatches
    job = {"model": {"family": "mlp", "width": model.width, "latent": LATENT}, "data": {"source": "toy:ring8"},
           "training": {"batch": batch, "microbatches": microbatches}, "checkpoint": {"every_kimg": 0, "keep": 1},
           "output": {"pictures_kimg": 0}}
    return job_file.text_of({name: {**job.get(name, {}), **sections.get(name, {})} for name in {**job, **sections}})
