# SPDX-License-Identifier: MIT
"""Runs the user's modules for libgangway-python.so, only from the texts that the job's hash covers.
Seeds generators, checks the state of networks, reports errors in a line. Compute thread only."""
import contextlib
import faulthandler
import importlib.metadata
import importlib.util
import inspect
import io
import json
import operator
import os
import random
import signal
import sys
import types


class Prints(io.TextIOBase):
    """Replaces sys.stdout and sys.stderr: passes whole lines to the program's own output."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, tell):
        self.tell, self.rest = tell, ""

    def writable(self):
        return True

    def write(self, text):
        *lines, self.rest = (self.rest + str(text)).split("\n")
        for line in lines:
            self.tell(line)
        return len(text)

    def finish(self):
        if self.rest:
            self.write("\n")


prints = None
torch = None
calls_phase = False  # whether a phase runs now
half = 0.5  # a variable, because Python would fold a constant before denormals are set
plain_forward = None  # of nn.Sequential
kept_settings = []  # of process_settings()
undone = set()  # names of settings that put_back() has told of


def no_fork(*_):
    raise OSError("networks of a job do not fork: the child would hold the worker's connections open; use "
                  "subprocess, or multiprocessing, which spawns here")


def no_process_group(*_, **__):
    raise Refused("init_process_group has no place here: the workers exchange gradients themselves; take it out")


def outside_phases(backward):
    """Wraps `backward` so that it raises Refused inside a phase."""
    def guarded(*words, **named):
        if calls_phase:
            raise Refused("a phase returns its loss, and calls no backward(): gradients and updates are made with it; take backward(), "
                          "zero_grad() and step() out")
        return backward(*words, **named)
    return guarded


def begin(tell, hides_gpus, step_text, place_signal):
    """Prepares Python. `step_text`: module gangway. `place_signal`: dumps this thread's stack."""
    global prints, torch, kept_settings, plain_forward
    prints = sys.stdout = sys.stderr = Prints(tell)
    os.environ["TORCH_COMPILE_DISABLE"] = "1"  # its choice of kernels depends on timing
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would take other workers' cores
    if hides_gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.fork = os.forkpty = no_fork
    sys.meta_path.insert(0, SOURCES)
    faulthandler.register(place_signal, file=2, all_threads=False)
    import multiprocessing
    multiprocessing.set_start_method("spawn")
    import torch as imported
    torch = imported
    plain_forward = torch.nn.Sequential.forward
    torch.autograd.backward = outside_phases(torch.autograd.backward)
    if torch.distributed.is_available():
        torch.distributed.init_process_group = no_process_group
    sys.modules["gangway"] = types.ModuleType("gangway")
    exec(compile(step_text, "gangway/step.py", "exec"), sys.modules["gangway"].__dict__)
    kept_settings = process_settings()


def joined_slope(norm, after):
    """Returns the slope below zero of `after`, an activation, if one kernel may compute it with
    `norm`; else None. Code between them, such as a hook, has to see the norm's own result."""
    nn = torch.nn
    if type(norm) not in (nn.BatchNorm1d, nn.BatchNorm2d) or type(after) not in (nn.ReLU, nn.LeakyReLU):
        return None
    changes = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "forward")
    if nn.modules.module._has_any_global_hook() or any(vars(module).get(name) for module in (norm, after) for name in changes):
        return None
    return after.negative_slope if isinstance(after, nn.LeakyReLU) else 0.0


def joining_forward(sequence, input):
    """Is nn.Sequential.forward, but lets a norm apply the activation after it."""
    modules = list(sequence)
    joined = None
    for module, after in zip(modules, [*modules[1:], None]):
        if module is joined:
            joined = None
            continue
        slope = joined_slope(module, after)
        if slope is None:
            input = module(input)
            continue
        join_activation(slope)
        try:
            input = module(input)
        finally:
            joined = after if end_joining() else None
    return input


def join_norms(are_joined):
    torch.nn.Sequential.forward = joining_forward if are_joined else plain_forward


def seed_others(seed):
    """Seeds random and numpy.random. The C++ caller seeds LibTorch's generators."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def flag(of, name):
    owner = operator.attrgetter(of)(torch.backends)
    return f"torch.backends.{of}.{name}", lambda: getattr(owner, name), lambda value: setattr(owner, name, value)


def flushes_denormals():
    return sys.float_info.min * half == 0.0


def process_settings():
    """Returns (name, reader, setter) of each setting of the process and its compute thread."""
    found = [
        ("torch.set_num_threads", torch.get_num_threads, torch.set_num_threads),
        ("torch.set_default_dtype", torch.get_default_dtype, torch.set_default_dtype),
        ("torch.set_default_device", torch.get_default_device,
         lambda device: torch.set_default_device(None if device.type == "cpu" else device)),
        ("torch.use_deterministic_algorithms", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
        ("torch.set_grad_enabled", torch.is_grad_enabled, torch._C._set_grad_enabled),
        ("torch.set_autocast_enabled", lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
        ("torch.set_float32_matmul_precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        ("torch.set_flush_denormal", flushes_denormals, torch.set_flush_denormal),
        ("os.chdir", os.getcwd, os.chdir),
        *(flag("cudnn", name) for name in ("benchmark", "deterministic", "allow_tf32")),
        flag("mkldnn", "enabled"),
        *(flag("cuda.matmul", f"allow_{name}") for name in ("fp16_reduced_precision_reduction", "bf16_reduced_precision_reduction",
                                                            "fp16_accumulation")),
    ]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGALRM):
        if signal.getsignal(number) is not None:
            found.append((f"signal.signal of {number.name}", lambda n=number: signal.getsignal(n),
                          lambda value, n=number: signal.signal(n, value)))
    return found


def settings():
    return [read() for _, read, _ in kept_settings]


def put_back(before):
    """Undoes settings that a call into the user's files changed: other workers do not have them."""
    for (name, read, put), value in zip(kept_settings, before, strict=True):
        if read() != value:
            put(value)
            if name not in undone:
                undone.add(name)
                prints.tell(f"{name} is the job's to choose: what your file did there is undone")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        raise Refused("initialises torch.distributed; the workers exchange gradients themselves")


def require_arguments(found, arguments):
    signature = inspect.signature(found)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise Refused(f"{found.__name__}: {error}; it takes {signature}") from None


def construct(folder, files, name, class_name, arguments, seed):
    """Makes the user's network, in training mode. The caller has seeded LibTorch's generator."""
    seed_others(seed)
    made = find_class(folder, files, name, class_name, torch.nn.Module)
    torch.manual_seed(seed)  # the import may have drawn numbers, and happens once
    seed_others(seed)
    given = json.loads(arguments or "{}")
    if isinstance(made, type):
        require_arguments(made, given)
    network = made(**given)
    if not isinstance(network, torch.nn.Module):
        raise Refused(f"{class_name} makes a {type(network).__name__}, no torch.nn.Module")
    network.train(True)
    return network


def tensors(network):
    """Returns (name, tensor, its dictionary, key) of parameters and buffers; repeats tied ones."""
    found = []
    for prefix, module in network.named_modules(remove_duplicate=False):
        for owned in (module._parameters, module._buffers):
            for name, tensor in owned.items():
                if tensor is not None:
                    found.append((f"{prefix}.{name}" if prefix else name, tensor, owned, name))
    return found


def call_first(network, inputs, seed):
    """Initialises lazy modules by a first call, then restores the buffers that existed before."""
    before = [(owned, name, tensor, tensor.clone()) for _, tensor, owned, name in tensors(network)
              if not tensor.requires_grad and not torch.nn.parameter.is_lazy(tensor)]
    seed_others(seed)
    network(*inputs)
    for owned, name, tensor, values in before:
        if name not in owned or owned[name] is not tensor or not torch.equal(tensor, values):
            owned[name] = values


def first_other(network, again):
    """Returns the first parameter or buffer that differs in `again`; "" if none does."""
    for (name, one, _, _), (other_name, other, _, _) in zip(tensors(network), tensors(again), strict=True):
        same = name == other_name and one.shape == other.shape and one.dtype == other.dtype
        if not same or not torch.equal(one.detach().nan_to_num(), other.detach().nan_to_num()):
            return name
    return ""


def find_step(folder, files, name, class_name):
    base = sys.modules["gangway"].Step
    found = find_class(folder, files, name, class_name, base)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise Refused(f"{class_name} is no class derived from gangway.Step")
    return found


def look_at_step(folder, files, name, class_name, networks, trained):
    """Returns what a step's class declares: of each phase (method, trained networks, repeats,
    interval, whether it reads new examples, whether it may be recorded); whether it has show(),
    score(), and a score that is better if higher; {network: [(shape of an example, is int64)]}."""
    found = find_step(folder, files, name, class_name)
    if found.score_is_better not in ("lower", "higher"):
        raise Refused(f"score_is_better is {found.score_is_better!r}; it is 'lower' or 'higher'")
    require_free_names(found, networks)
    return (own_phases(found, trained), hasattr(found, "show"), hasattr(found, "score"), found.score_is_better == "higher",
            own_inputs(found, networks))


def own_phases(found, networks):
    phases = sys.modules["gangway"].phases_of(found)
    if not phases:
        raise Refused(f"{found.__name__} has no phase: put @gangway.phase(trains=...) before a method")
    for method, (trains, repeats, every, _, _) in phases.items():
        for network in trains:
            if network not in networks:
                raise Refused(f"phase {method} trains {network}; the job has {', '.join(networks)}")
        if not trains or len(set(trains)) < len(trains) or repeats < 1 or every < 1:
            raise Refused(f"phase {method} has to train a network, each once, with repeats and every of at least 1")
    return [(method, *fields) for method, fields in phases.items()]


def make_step(folder, files, name, class_name, arguments, seed, networks, model):
    found = find_step(folder, files, name, class_name)
    seed_others(seed)
    torch.manual_seed(seed)  # the import may have drawn numbers, and happens once
    given = json.loads(arguments or "{}")
    require_arguments(found, given)
    return sys.modules["gangway"].made(found, networks, json.loads(model), given)


def beside(batch):
    """Makes the batch's device the default for new tensors."""
    device = next((tensor.device for tensor in batch.values()), torch.device("cpu"))
    return contextlib.nullcontext() if device.type == "cpu" else device


def call_step(step, method, batch, number, seed, kept):
    """Returns a micro-batch's loss and figures. `kept`: tensors that earlier phases kept of it."""
    global calls_phase
    seed_others(seed)
    vars(step)["kept"] = kept
    calls_phase = True
    try:
        with beside(batch):
            made = getattr(step, method)(batch, number)
    finally:
        calls_phase = False
    loss, figures = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        what = f"a tensor {list(loss.shape)}" if isinstance(loss, torch.Tensor) else f"a {type(loss).__name__}"
        raise Refused(f"{method} returns {what}; a phase returns its loss, a scalar, or (loss, figures)")
    if not loss.requires_grad:
        raise Refused(f"{method} returns a loss that depends on no weights: is it detached, or made under no_grad?")
    if not isinstance(figures, dict):
        raise Refused(f"{method} returns {type(figures).__name__} for figures; they are a dict of numbers")
    if isinstance(number, torch.Tensor):  # captured
        named = next((name for name, value in figures.items() if not isinstance(value, torch.Tensor)), None)
        if named is not None:
            raise Refused(f"{method} returns a {type(figures[named]).__name__} for {named}, which a recorded step would repeat for "
                          "ever; where capture is True figures are tensors")
    return loss.reshape(()).float(), {str(name): torch.as_tensor(value, dtype=torch.float32).detach().reshape(())
                                      for name, value in figures.items()}


def kept_by(step):
    return {name: frozen(value, set()) for name, value in vars(step).items()
            if name != "kept" and not isinstance(value, torch.nn.Module)}


def note_packages(file):
    """Records the versions of packages that the job's files use, or tells which changed since."""
    used = {value.__name__ if isinstance(value, types.ModuleType) else str(getattr(value, "__module__", ""))
            for module in SOURCES.modules() for value in vars(module).values()}
    packages = importlib.metadata.packages_distributions()
    found = {package: importlib.metadata.version(package) for name in used for package in packages.get(name.partition(".")[0], ())}
    try:
        with open(file) as noted:
            before = json.load(noted)
        for package in sorted(found):
            if before.get(package, found[package]) != found[package]:
                prints.tell(f"{package} is {found[package]} now, and was {before[package]} when the run began: numbers may differ for "
                            "that alone")
    except FileNotFoundError:
        with open(file + ".part", "w") as noted:
            json.dump(dict(sorted(found.items())), noted, indent=1)
        os.replace(file + ".part", file)
    except (OSError, ValueError, AttributeError, KeyError) as error:
        prints.tell(f"{file}: {type(error).__name__}: {error}; which versions the run began with is not known")


def save(network, file, inputs, names):
    """Writes the network by torch.export or torch.onnx, for any number of examples."""
    if file.endswith(".onnx"):
        if importlib.util.find_spec("onnx") is None:
            raise Refused("is written as ONNX by the package onnx, which the job's environment has not: pip install onnx")
        torch.onnx.export(network, inputs, file, dynamo=False, input_names=names, output_names=["output"],
                          dynamic_axes={name: {0: "N"} for name in [*names, "output"]})
        return
    number = {0: torch.export.Dim("N", min=1)}
    torch.export.save(torch.export.export(network, inputs, dynamic_shapes=tuple(number for _ in inputs)), file)


OF_EVERY_MODULE = None  # names of nn.Module's own attributes


class Values:
    """Holds a copy of a tensor's values, for comparison; NaN equals NaN."""

    def __init__(self, tensor):
        self.tensor = tensor.detach().clone()

    def __eq__(self, other):
        return isinstance(other, Values) and self.tensor.dtype == other.tensor.dtype and torch.equal(
            self.tensor.nan_to_num(), other.tensor.nan_to_num())


def frozen(value, seen):
    """Returns a comparable copy of plain data; None for other values."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return (type(value).__name__, repr(value))
    if id(value) in seen or len(seen) > 10_000:
        return None
    seen.add(id(value))
    if isinstance(value, torch.Generator):
        return Values(value.get_state())
    if isinstance(value, torch.Tensor):
        return Values(value)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, dict):
        return ("dict", [(repr(key) if isinstance(key, (str, int)) else type(key).__name__, frozen(item, seen))
                         for key, item in value.items()])
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return (type(value).__name__, [frozen(item, seen) for item in value])
    if isinstance(value, (set, frozenset)):
        return ("set", sorted(repr(frozen(item, seen)) for item in value))
    if type(value).__module__ == "numpy":
        return ("numpy", str(getattr(value, "dtype", "")), value.tobytes() if hasattr(value, "tobytes") else None)
    if type(value).__name__ in ("Generator", "RandomState") and hasattr(value, "bit_generator"):
        return ("numpy", repr(value.bit_generator.state))
    if type(value).__module__ in SOURCES.texts and not isinstance(value, torch.nn.Module) and hasattr(value, "__dict__"):
        return frozen(vars(value), seen)
    return None


def attributes(network):
    """Returns, by name, the state of the network and its modules beside parameters and buffers."""
    global OF_EVERY_MODULE
    if OF_EVERY_MODULE is None:
        OF_EVERY_MODULE = set(vars(torch.nn.Module())) | {"_is_full_backward_hook"}
    kept, seen = {}, set()
    for prefix, module in network.named_modules():
        for name, value in vars(module).items():
            if name not in OF_EVERY_MODULE:
                kept[f"{prefix}.{name}" if prefix else name] = frozen(value, seen)
    for module in SOURCES.modules():
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, held in vars(value).items():
                    kept[f"{name}.{inner}"] = frozen(held, seen)
            elif not name.startswith("__"):
                kept[f"{module.__name__}.{name}"] = frozen(value, seen)
    return kept


def first_changed(before, after):
    """Returns the first name whose value changed; "" if none did."""
    return next((name for name in [*before, *after] if before.get(name) != after.get(name)), "")


def end():
    prints.finish()
