# SPDX-License-Identifier: MIT
"""The networks of a run with the state that a checkpoint has, and what of a job is not replayed."""
import grp
import os
import pwd
import stat
from pathlib import Path

import torch

from gangway.errors import Failed
from gangway.reference import update
from gangway.reference.networks import Dense, Module, Network
from gangway.xxh3 import hash_of

OF_A_TRAINING = {"lecam_real", "lecam_fake"}  # statistics that are no part of a network's own module


def require_replayed(job: dict, numerics: str) -> None:
    """Raises Failed, in a line, for the first thing of a job that is not replayed."""
    def keys(section, **wanted):
        return [(f"{section}.{name}", _at(job, section).get(name, value), value) for name, value in wanted.items()]

    wanted = [*keys("training", recipe="adversarial", orthogonal_weight=0),
              *keys("training.augment", policy="none"), *keys("training.path_length", weight=0),
              *keys("generator", frozen=False), *keys("discriminator", frozen=False),
              *keys("numerics", device="cpu", precision="fp32"), *keys("model", codes=0, categories=0, library="none")]
    for key, value, replayed in wanted:
        if value != replayed:
            raise Failed(f"{key}: {value} is not replayed, {replayed} is (docs/reference-step.md)")
    if "inexact=" in numerics:
        raise Failed(f"the run is declared inexact ({numerics}): a step of it depends on who has computed what")


def _at(job: dict, section: str) -> dict:
    for name in section.split("."):
        job = job.get(name, {})
    return job if isinstance(job, dict) else {}


def _is_own_group(number: int) -> bool:
    """The caller's private group, as many systems give one to each user."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def require_trusted(path: Path) -> None:
    """Code is run only where nobody else could have written it, by the rule of base/system/trusted_code.cpp (SECURITY.md)."""
    for place in {one: None for real in (path.absolute(), path.resolve()) for one in (real, *real.parents)}:
        status = place.lstat()
        is_shared = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        complaint = None
        if status.st_uid not in (os.geteuid(), 0):
            complaint = f"belongs to user {status.st_uid}"
        elif not is_shared and not stat.S_ISLNK(status.st_mode):
            if status.st_mode & stat.S_IWOTH:
                complaint = "can be written to by everybody"
            elif status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
                complaint = "can be written to by its group"
        if complaint:
            raise Failed(f"{place} {complaint}, and {path.name} is code that would run as you: chmod go-w or a copy of your own helps, "
                         "--trust runs it as it is")


def _script(run: Path, name: str, wanted_hash: str, statistics: list, trusts: bool) -> Module:
    path = run / "networks" / f"{name}-{wanted_hash}.pt"
    if not path.is_file():
        raise Failed(f"{path}: is not there: the run keeps a copy of each of your networks")
    if not trusts:
        require_trusted(path)
    if hash_of(path.read_bytes()) != wanted_hash:
        raise Failed(f"{path}: has changed: its hash is not that of its name")
    return Module(torch.jit.load(path, map_location="cpu"), statistics)


def _built_in(job: dict, name: str, shapes: dict) -> Dense:
    """Families whose layers are PyTorch's own operators in the same order; others have kernels of Gangway's, with other bits."""
    model = job["model"]
    has_norm = any("norm." in one for one in shapes)
    if model["family"] not in ("mlp", "dense") or has_norm or model.get("classes", 0) > 0:
        raise Failed(f"the {name} of family {model['family']} has kernels of Gangway's own, which are not replayed; networks of "
                     "yours are (model.generator, model.discriminator), and the families mlp and dense without BatchNorm and labels")
    weights = [one for one in shapes if one.endswith("/weight")]
    shapes = {one.replace("weight", part): shapes[one.replace("weight", part)] for one in
              sorted(weights, key=lambda one: int(one.partition("/")[0])) for part in ("weight", "bias")}
    last_gain = 1.0 if model["family"] == "dense" else 2.0
    if name == "generator":
        is_picture = model["family"] == "dense"
        picture = (model["channels"], model["resolution"], model["resolution"]) if is_picture else None
        return Dense(shapes, "relu", last="tanh" if is_picture else "none", last_gain=last_gain, picture=picture)
    if model["activation"] == "softplus" and _at(job, "training.r1").get("gamma", 0) + job["training"]["gradient_penalty"] > 0:
        raise Failed("model.activation: softplus under a penalty is not replayed for built-in networks: sums of second derivatives "
                     "are made block by block")
    return Dense(shapes, model["activation"], last_gain=last_gain, dropout=model.get("dropout", 0.0))


def networks_of(run: Path, job: dict, checkpoint, is_beginning: bool = False, trusts: bool = False) -> dict[str, Network]:
    """@param is_beginning  whether they are as before the first step; the checkpoint then only says which tensors there are
    @param trusts  whether a network's file is run whoever could have written it"""
    found = {}
    for number, name in enumerate(("generator", "discriminator")):
        tensors = [one.partition("/")[2] for one in checkpoint.names if one.startswith(f"{name}/")]
        moments = update.MOMENTS[next(iter(job[name]["optimizer"]))]
        trained = {one for one in tensors if f"{name}_optimizer/{moments[0]}/{one}" in checkpoint.names}
        kept = {one: 1.0 - job["training"]["lecam"]["decay"] for one in tensors if one.rpartition("/")[2] in OF_A_TRAINING}
        if job["model"].get(name, "none") != "none":
            statistics = [one for one in tensors if one not in trained and one not in kept]
            module = _script(run, name, job["model"][f"{name}_hash"], statistics, trusts)
        else:
            shapes = {one: checkpoint.tensor(f"{name}/{one}").shape for one in tensors if one in trained}
            module = _built_in(job, name, shapes)
        if set(module.parameters) != trained:
            odd = sorted(set(module.parameters) ^ trained)[0]
            raise Failed(f"{checkpoint.folder}: the {name}'s parameter '{odd}' is not in both its module and the checkpoint", 5)
        is_channels_last = job["numerics"]["memory_format"] == "channels-last"
        found[name] = Network(name, module, checkpoint, moments, kept, is_channels_last)
        if is_beginning:
            if job[name]["weights"] != "none" or job[name].get("initialization", "family") != "family":
                raise Failed(f"step 0 of a run whose {name} begins with other weights than its own is not replayed; later steps are")
            found[name].begin(module.initial(job["training"]["seed"], number))
    return found
