# SPDX-License-Identifier: MIT
"""python -m gangway.reference RUN STEP: replays the step after the checkpoint of STEP in PyTorch alone. Compares the
result with the checkpoint of STEP + 1, bit by bit (docs/reference-step.md)."""
import argparse
import os
import sys

from gangway.errors import Failed
from gangway.job_file import parse
from gangway.opened import open_run

# The same values as worker/arithmetic/hold_processor.cpp. The libraries read them when they load.
PROCESSORS = {"avx512": ("avx512", "AVX512_CORE", "AVX512"), "avx2": ("avx2", "AVX2", "AVX2"), "sse4": ("default", "SSE41", "SSE4_2")}


def hold_processor(job: dict) -> None:
    for name, word in zip(("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"),
                          PROCESSORS.get(job["numerics"].get("processor", "native"), ())):
        os.environ[name] = word


def difference(name: str, made, recorded) -> str | None:
    """Returns where two tensors first differ, with both values; None if every bit is equal."""
    import torch
    if made.shape != recorded.shape or made.dtype != recorded.dtype:
        return f"{name}: {list(made.shape)} {made.dtype} here, {list(recorded.shape)} {recorded.dtype} in the checkpoint"
    made, recorded = made.detach().contiguous(), recorded.contiguous()
    bits = {4: torch.int32, 8: torch.int64}[made.element_size()]
    places = (made.reshape(-1).view(bits) != recorded.reshape(-1).view(bits)).nonzero().reshape(-1)
    if len(places) == 0:
        return None
    first = int(places[0])
    here, there = made.reshape(-1)[first].item(), recorded.reshape(-1)[first].item()
    index = [int(one) for one in torch.unravel_index(places[0], made.shape)] if made.dim() else ""
    return f"{name}{index}: {here:.9g} here, {there:.9g} in the checkpoint ({len(places)} of {made.numel()} elements differ)"


def compare(made: dict, recorded) -> bool:
    """Prints a line for each group of tensors. Returns whether all are equal."""
    groups: dict[str, list[str]] = {}
    for name in recorded.names:
        groups.setdefault(name.partition("/")[0], []).append(name)
    is_equal = True
    print(f"{'':24} tensors")
    for group, names in groups.items():
        found = [difference(name, made[name], recorded.tensor(name)) if name in made else f"{name}: is not replayed" for name in names]
        different = [one for one in found if one]
        is_equal = is_equal and not different
        print(f"{group:24} {len(names):7}   {'equal' if not different else f'{len(different)} DIFFERENT; first {different[0]}'}")
    return is_equal


def notes(software: dict):
    """Yields how this machine differs from the run's, because other kernels compute other bits."""
    import torch
    here = {"libtorch": torch.__version__.partition("+")[0], "arithmetic.instructions": torch.backends.cpu.get_cpu_capability()}
    for name, value in here.items():
        if software.get(name, value) != value:
            yield f"note   {name.rpartition('.')[2]} is {value} here, and was {software[name]}: bits may differ for that alone"


def replay(options) -> bool:
    run = open_run(options.run, options.outdir)
    step = options.step
    for wanted in (step, step + 1):
        if wanted not in run.steps and wanted != 0:
            pairs = [one for one in [0, *run.steps] if one + 1 in run.steps]
            raise Failed(f"{run.folder}: has no checkpoint of step {wanted}; a replay needs two that are one step apart, as "
                         f"checkpoint.every_steps=1 leaves them; "
                         + (f"STEP may be {', '.join(map(str, pairs))}" if pairs else
                            f"there are {', '.join(map(str, run.steps)) or 'none'}"))
    after = run.checkpoint(step + 1)
    is_beginning = step not in run.steps  # step 0 has no checkpoint: its state follows from the job
    before = after if is_beginning else run.checkpoint(step)
    job = parse(after.manifest["job_yaml"], f"{after.folder}: its job")
    hold_processor(job)
    import torch
    from gangway.reference import data, load, own_step
    from gangway.reference.step import Step
    torch.set_num_threads(job["numerics"]["threads"])
    load.require_replayed(job, after.manifest)
    networks = load.networks_of(run.folder, job, before, is_beginning, options.trust)
    own = own_step.OwnStep(run.folder, job, networks, options.trust) if job["training"].get("step", "none") != "none" else None
    examples = data.Own(run.folder, job, options.trust) if "source_hash" in job["data"] else None
    replayed = Step(job, networks, step, after.manifest["events"], options.pack, own, examples)
    print(f"{run.folder}: step {step} to {step + 1} in PyTorch {torch.__version__}, {job['training']['microbatches']} micro-batches "
          f"of {job['training']['batch'] // job['training']['microbatches']}")
    for note in notes(after.manifest["software"]):
        print(note)
    replayed.replay()
    is_equal = compare({name: one for network in networks.values() for name, one in network.tensors().items()}, after)
    print("equal in every bit" if is_equal else f"different: step {step + 1} is not what this makes of step {step}")
    return is_equal


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m gangway.reference", description=__doc__.partition(": ")[2])
    parser.add_argument("run", metavar="RUN", help="directory or name of a run")
    parser.add_argument("step", metavar="STEP", type=int, help="steps done before the one that is replayed")
    parser.add_argument("--outdir", default="runs", help="folder of the runs")
    parser.add_argument("--pack", metavar="FOLDER", help="read the run's pictures from what `gangway data pack` has made of them")
    parser.add_argument("--trust", action="store_true", help="run networks that others could have written")
    options = parser.parse_args(arguments)
    try:
        return 0 if replay(options) else 1
    except Failed as error:
        print(f"gangway.reference: {error.line}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
