# SPDX-License-Identifier: MIT
"""Loads a run's networks with a checkpoint's state, and refuses jobs that cannot be replayed."""
import functools
import grp
import importlib
import math
import os
import pwd
import stat
import sys
from pathlib import Path

import torch

from gangway.errors import Failed
from gangway.examples import seed_all
from gangway.reference import philox, update
from gangway.reference.networks import Dense, Module, Network

OF_A_TRAINING = {"lecam_real", "lecam_fake"}  # statistics outside a network's own module
OWN_KERNELS_SINCE = 4  # revision of job/number_changes.cpp


def network_names(job: dict) -> list[str]:
    """Returns the networks in the order of their numbers. A job with its own step may name them."""
    recipe = job["training"].get("recipe")
    return recipe if isinstance(recipe, list) else ["generator", "discriminator"]


def updates_of(job: dict) -> int:
    """Returns the batches of real examples that a step counts: updates of the second network."""
    names = network_names(job)
    return job[names[1]]["steps"] if len(names) > 1 else 1


def require_replayed(job: dict, manifest: dict) -> None:
    """Raises Failed for the first key of a job that is not replayed."""
    def keys(section, **wanted):
        return [(f"{section}.{name}", _at(job, section).get(name, value), value) for name, value in wanted.items()]

    of_recipe = [] if isinstance(job["training"].get("recipe"), list) else [
        *keys("training", recipe="adversarial"), *keys("generator", frozen=False), *keys("discriminator", frozen=False)]
    wanted = [*of_recipe, *keys("training", orthogonal_weight=0),
              *keys("training.augment", policy="none"), *keys("training.path_length", weight=0),
              *keys("numerics", device="cpu", precision="fp32"), *keys("model", codes=0, categories=0, library="none")]
    for key, value, replayed in wanted:
        if value != replayed:
            raise Failed(f"{key}: {value} is not replayed, {replayed} is (docs/reference-step.md)")
    if job["numerics"].get("penalties") == "bf16":
        raise Failed("numerics.penalties: bf16 is not replayed, auto is (docs/reference-step.md)")
    has_own_kernels = int(manifest["software"].get("numbers", 1)) >= OWN_KERNELS_SINCE and job["numerics"].get("kernels") != "pytorch"
    if has_own_kernels and any(_is_python(job["model"].get(name, "none")) for name in network_names(job)):
        raise Failed("Python networks computed with kernels of Gangway's own, which are not replayed; a run with numerics.kernels=pytorch "
                     "is (docs/reference-step.md)")
    if "inexact=" in manifest["numerics"]:
        raise Failed(f"the run is declared inexact ({manifest['numerics']}): its steps depend on the layout")


def _at(job: dict, section: str) -> dict:
    for name in section.split("."):
        job = job.get(name, {})
    return job if isinstance(job, dict) else {}


def _is_own_group(number: int) -> bool:
    """Returns whether it is the caller's private group, which many systems give to each user."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def require_trusted(path: Path) -> None:
    """Raises Failed if others can write the code (base/system/trusted_code.cpp, SECURITY.md)."""
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


def class_of(run: Path, named, wanted_hash: str, trusts: bool):
    """Returns (name in the job, function that imports the class, arguments), from the run's copy.
    @param named  the job's value: nets.py:Net, folder/package.module:Net, or a map of `python: nets.py:Net` and arguments"""
    call, arguments = (named["python"], {**named}) if isinstance(named, dict) else (named, {})
    arguments.pop("python", None)
    place, _, class_name = call.rpartition(":")
    module = Path(place).name.removesuffix(".py")  # with dots: of a package
    file = f"{module.replace('.', '/')}.py" if not place.endswith(".py") else Path(place).name
    folder = run / "python" / wanted_hash
    sources = sorted(folder.rglob("*.py"))
    if folder / file not in sources:
        raise Failed(f"{folder / file}: is not there: the run keeps a copy of each of your networks' files")
    for source in sources if not trusts else ():
        require_trusted(source)
    sys.dont_write_bytecode = True  # no __pycache__ in the run
    sys.path.insert(0, str(folder))
    name = module.removesuffix(".__init__")
    return call, lambda: functools.reduce(getattr, class_name.split("."), importlib.import_module(name)), arguments


def _is_python(named) -> bool:
    return isinstance(named, dict) or ":" in named


def _python(run: Path, job: dict, name: str, statistics: list, trusts: bool) -> Module:
    """Makes a user's network under the job's seed, because no checkpoint holds its constants."""
    call, find, arguments = class_of(run, job["model"][name], job["model"][f"{name}_hash"], trusts)
    seed = job["training"]["seed"]
    seed_all(seed)
    try:
        found = find()
        seed_all(seed)  # the import may have drawn numbers
        network, step = found(**arguments).train(), job["training"].get("step", "none")
        takes = {} if step == "none" else class_of(run, step, job["training"]["step_hash"], trusts)[1]().takes
        _take_shapes(network, job, name, seed, takes.get(name))
        return Module(network, statistics)
    except Exception as error:  # any exception of the user's code
        raise Failed(f"model.{name}: {call}: {type(error).__name__}: {error}".splitlines()[0]) from None


def _take_shapes(network: torch.nn.Module, job: dict, name: str, seed: int, examples) -> None:
    """Initialises lazy modules by a forward pass over two examples, then restores the buffers."""
    model = job["model"]
    if examples is None:
        of_noise, of_pictures = (model["latent"],), (model["channels"], model["resolution"], model["resolution"])
        examples = [torch.zeros(of_noise if name == network_names(job)[0] else of_pictures)]
        examples += [torch.zeros((), dtype=torch.int64)] if model.get("classes", 0) > 0 else []
    inputs = []
    for one in examples if isinstance(examples, (list, tuple)) else [examples]:
        shape = (2, *one.shape)
        inputs.append(torch.zeros(shape, dtype=one.dtype) if one.dtype == torch.int64 else
                      philox.shaped(philox.Keyed(0).normal(math.prod(shape)), shape))
    before = {one: values.clone() for one, values in network.named_buffers() if not torch.nn.parameter.is_lazy(values)}
    seed_all(seed)
    network(*inputs)
    for one, values in network.named_buffers():
        if one in before:
            values.copy_(before[one])


def _built_in(job: dict, name: str, shapes: dict) -> Dense:
    """Builds a family of PyTorch's operators. Raises Failed for one that has Gangway's kernels."""
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
    """Loads a run's networks. @param trusts  runs code that others could write; is_beginning: the checkpoint only names the tensors"""
    found = {}
    for number, name in enumerate(network_names(job)):
        tensors = [one.partition("/")[2] for one in checkpoint.names if one.startswith(f"{name}/")]
        is_frozen = job[name].get("frozen", False)
        moments = [] if is_frozen else update.MOMENTS[next(iter(job[name]["optimizer"]))]
        parameters = {one for one in tensors if not is_frozen and f"{name}_optimizer/{moments[0]}/{one}" in checkpoint.names}
        kept = {one: 1.0 - _at(job, "training.lecam")["decay"] for one in tensors if one.rpartition("/")[2] in OF_A_TRAINING}
        statistics = [one for one in tensors if one not in parameters and one not in kept]
        named = job["model"].get(name, "none")
        if named != "none" and not _is_python(named):
            raise Failed(f"model.{name}: {named}: TorchScript files are no networks any more (docs/python.md)")
        module = (_python(run, job, name, statistics, trusts) if _is_python(named) else
                  _built_in(job, name, {one: checkpoint.tensor(f"{name}/{one}").shape for one in parameters}))
        if is_frozen:
            module.network.eval()
        elif set(module.parameters) != parameters:
            odd = min(set(module.parameters) ^ parameters)
            raise Failed(f"{checkpoint.folder}: the {name}'s parameter '{odd}' is not in both its module and the checkpoint", 5)
        is_channels_last = job["numerics"]["memory_format"] == "channels-last"
        found[name] = Network(name, module, checkpoint, moments, kept, is_channels_last)
        if is_beginning and not is_frozen:
            if job[name]["weights"] != "none" or job[name].get("initialization", "family") != "family":
                raise Failed(f"step 0 of a run whose {name} begins with other weights than its own is not replayed; later steps are")
            found[name].begin(module.initial(job["training"]["seed"], number))
    return found
