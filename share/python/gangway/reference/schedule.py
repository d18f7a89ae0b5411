# SPDX-License-Identifier: MIT
"""Computes a job's scheduled numbers from the real images shown so far (docs/training.md)."""
import math


def _progress(schedule: dict, images: float, burn_in: float, pieces: float = 1.0) -> float:
    start = schedule.get("start_kimg", 0) * 1000.0
    end = schedule["end_kimg"] * 1000.0 if schedule.get("end_kimg", 0) > 0 else burn_in
    return min(max((images - start) * pieces / (end - start), 0.0), pieces) if end > start else pieces


def _on_a_line(first, last, share):
    return last + (first - last) * (1.0 - share)


def _on_half_a_cosine(first, last, share):
    return last + (first - last) * 0.5 * (1.0 + math.cos(math.pi * share))


def _final(schedule: dict) -> float:
    return schedule.get("final_factor", schedule.get("final", 0.0))


def warmed_up(schedule: dict, images: float) -> float:
    """Returns the factor of the warm-up."""
    warmup, start = schedule.get("warmup_kimg", 0) * 1000.0, schedule.get("warmup_from", 0.0)
    return start + (1.0 - start) * (min(1.0, images / warmup) if warmup > 0 else 1.0)


def decayed(base: float, schedule: dict, images: float, burn_in: float) -> float:
    """Returns `base` after its decay, without the warm-up."""
    decay = schedule.get("decay", "none")
    if decay == "linear":
        return _on_a_line(base, _final(schedule), _progress(schedule, images, burn_in))
    if decay == "cosine":  # Loshchilov and Hutter, 2017, eq. 5
        cycles = float(schedule.get("cycles", 1))
        done = _progress(schedule, images, burn_in, cycles)
        return _on_half_a_cosine(base, _final(schedule), done - math.floor(done) if done < cycles else 1.0)
    if decay == "step":
        if schedule.get("milestones"):
            steps = sum(images >= kimg * 1000.0 for kimg in schedule["milestones"])
        else:
            every = schedule.get("step_kimg", 0) * 1000.0
            steps = math.floor(images / every) if every > 0 else 0
        return base * math.pow(schedule.get("step_factor", 0.1), float(steps))
    if decay == "exponential":
        return base * math.pow(_final(schedule) / base, _progress(schedule, images, burn_in))
    if decay == "onecycle":  # Smith, 2018, section 4
        line = _on_a_line if schedule.get("anneal") == "linear" else _on_half_a_cosine
        first = schedule.get("initial_factor", schedule.get("initial", 0.04))
        share, peak = _progress(schedule, images, burn_in), schedule.get("peak", 0.3)
        if share < peak:
            return line(first, base, share / peak)
        return line(base, _final(schedule), (share - peak) / (1.0 - peak))
    return base


def scheduled(base: float, schedule, images: float, burn_in: float) -> float:
    """Returns `base` after decay and warm-up. `schedule`: a map of the job file, or "none"."""
    schedule = schedule if isinstance(schedule, dict) else {}
    return decayed(base, schedule, images, burn_in) * warmed_up(schedule, images)
