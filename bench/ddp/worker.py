#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One process of one row of the benchmark: trains at run.py's commands, and waits on its standard input between them.

Started by run.py. Reads lines "WARMUP_STEPS STEPS", trains that many steps, and answers with the seconds of
the last STEPS. Ends at the end of input. With --top N it then profiles one more step and prints its N slowest GPU kernels.

A step is Gangway's (docs/architecture.md): the discriminator on real images and on freshly made ones, micro-batch by
micro-batch, Adam; then the generator through the discriminator with fresh noise, Adam. Non-saturating loss.
"""
import argparse
import contextlib
import functools
import os
import sys
import time

import torch
import torch.distributed
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.parallel import DistributedDataParallel

from networks import FASHION_MNIST, LATENT, NETWORKS, Images


class Trainer:
    """Trains both networks on one worker: optimisers and data.

    `tuned`: fused Adam, channels-last (unless `contiguous`), no broadcast of buffers, and no weight
    gradients of the discriminator in the generator phase, so none are reduced there. Otherwise as
    PyTorch's DCGAN tutorial, both networks in DistributedDataParallel. `autocast`: bf16 where
    PyTorch considers it safe. `compile`: each network, wrapped or not, by torch.compile.
    `reuse_fakes`: both phases share a step's images, as in the tutorial and training.reuse_fakes.
    """

    def __init__(self, options):
        self.tuned = options.tuned
        self.is_channels_last = options.tuned and not options.contiguous
        self.reuses_fakes = options.reuse_fakes
        self.made = []  # this step's images for the generator's phase, by micro-batch
        self.num_images = options.batch // options.microbatches
        self.num_microbatches = options.microbatches // options.workers
        self.latent = LATENT[options.network]
        self.device = device_of(options)
        # No cached casts: a captured step must cast again, and branches of a step must not share.
        self.precision = functools.partial(torch.autocast, self.device.type, torch.bfloat16, options.autocast == "bf16",
                                           cache_enabled=not options.graph and options.streams == 1)
        self.images = Images(options.network, options.images, self.device)
        torch.manual_seed(0)
        networks = [network.train().to(self.device) for network in NETWORKS[options.network]()]
        if self.is_channels_last:
            networks = [network.to(memory_format=torch.channels_last) for network in networks]
        self.plain_generator, self.plain_discriminator = networks
        self.generator, self.discriminator = networks
        if options.ddp:
            wrapped = {"gradient_as_bucket_view": options.tuned, "broadcast_buffers": not options.tuned,
                       "bucket_cap_mb": options.bucket_mb}
            self.generator, self.discriminator = [DistributedDataParallel(n, **wrapped) for n in networks]
        if options.compile:
            self.plain_generator, self.plain_discriminator = [torch.compile(n) for n in networks]
            self.generator, self.discriminator = [torch.compile(n) for n in (self.generator, self.discriminator)]
        adam = {"lr": 2e-4, "betas": (0.5, 0.999), "fused": self.tuned, "capturable": options.graph}
        self.generator_optimizer = torch.optim.Adam(networks[0].parameters(), **adam)
        self.discriminator_optimizer = torch.optim.Adam(networks[1].parameters(), **adam)
        torch.manual_seed(1 + options.rank)  # other data and noise on each worker

    def step(self):
        self.discriminator_phase()
        self.generator_phase()

    def discriminator_phase(self):
        self.discriminator_optimizer.zero_grad(set_to_none=not self.tuned)  # bucket views are kept
        for position in range(self.num_microbatches):
            is_last = position == self.num_microbatches - 1
            with self.accumulating(self.discriminator):
                self.discriminator_pass(self.real_images(), 1.0)
            with contextlib.nullcontext() if is_last else self.accumulating(self.discriminator):
                self.discriminator_pass(self.judged_fakes(is_last), 0.0)
        self.discriminator_optimizer.step()

    def judged_fakes(self, is_last):
        if not self.reuses_fakes:
            with torch.no_grad(), self.precision():
                return self.plain_generator(self.noise())
        with contextlib.nullcontext() if is_last else self.accumulating(self.generator), self.precision():
            self.made.append(self.generator(self.noise()))
        return self.made[-1].detach()

    def discriminator_pass(self, images, label):
        with self.precision():
            loss = self.loss(self.discriminator(images), label)
        (loss / self.num_microbatches).backward()

    def generator_phase(self):
        self.generator_optimizer.zero_grad(set_to_none=not self.tuned)
        judge = self.plain_discriminator if self.tuned else self.discriminator
        if self.tuned:
            self.plain_discriminator.requires_grad_(False)
        for position in range(self.num_microbatches):
            with contextlib.ExitStack() as stack:
                if position < self.num_microbatches - 1:
                    stack.enter_context(self.accumulating(self.generator))
                    stack.enter_context(self.accumulating(judge))
                with self.precision():
                    fakes = self.made[position] if self.reuses_fakes else self.generator(self.noise())
                    loss = self.loss(judge(fakes), 1.0)
                (loss / self.num_microbatches).backward()
        self.made.clear()
        if self.tuned:
            self.plain_discriminator.requires_grad_(True)
        self.generator_optimizer.step()

    @staticmethod
    def accumulating(network):
        """Returns a context in which gradients of `network` stay on this worker."""
        network = getattr(network, "_orig_mod", network)  # below torch.compile's wrapper
        return network.no_sync() if isinstance(network, DistributedDataParallel) else contextlib.nullcontext()

    @staticmethod
    def loss(logits, label):
        return binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))

    def noise(self):
        return torch.randn(self.num_images, self.latent, device=self.device)

    def real_images(self):
        images = self.images.batch(torch.randint(len(self.images.pixels), (self.num_images,), device=self.device))
        return images.contiguous(memory_format=torch.channels_last) if self.is_channels_last else images


class BranchedTrainer(Trainer):
    """Runs a phase's micro-batches as branches on `streams` streams of a GPU; on a CPU in sequence.

    Each branch has its own gradients, added in the order of micro-batches once all are there.
    BatchNorms keep no running averages, because several branches would write to them at once.
    """

    def __init__(self, options):
        super().__init__(options)
        self.streams = [torch.cuda.Stream(self.device) if self.device.type == "cuda" else None for _ in range(options.streams)]
        for network in (self.plain_generator, self.plain_discriminator):
            for module in network.modules():
                if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                    module.track_running_stats = False
                    module.running_mean = module.running_var = module.num_batches_tracked = None

    def discriminator_phase(self):
        self.update(self.plain_discriminator, self.discriminator_optimizer, self.judging_loss)

    def generator_phase(self):
        self.update(self.plain_generator, self.generator_optimizer, self.making_loss)

    def judging_loss(self):
        with self.precision():
            with torch.no_grad():
                fakes = self.plain_generator(self.noise())
            return (self.loss(self.plain_discriminator(self.real_images()), 1.0)
                    + self.loss(self.plain_discriminator(fakes), 0.0))

    def making_loss(self):
        with self.precision():
            return self.loss(self.plain_discriminator(self.plain_generator(self.noise())), 1.0)

    def update(self, network, optimizer, loss):
        parameters = list(network.parameters())
        gradients = []
        for stream in self.streams:
            wait_for(stream, None)
        for position in range(self.num_microbatches):
            with torch.cuda.stream(self.streams[position % len(self.streams)]):
                gradients.append(torch.autograd.grad(loss() / self.num_microbatches, parameters))
        for stream in self.streams:
            wait_for(None, stream)
        total = list(gradients[0])
        for more in gradients[1:]:
            torch._foreach_add_(total, more)
        for parameter, gradient in zip(parameters, total):
            same = gradient.stride() == parameter.stride()  # a fused optimiser needs equal strides
            parameter.grad = gradient if same else torch.empty_like(parameter).copy_(gradient)
        optimizer.step()


def wait_for(later, earlier):
    """Makes stream `later` wait for stream `earlier`; None: the current stream."""
    if later is None and earlier is None or not torch.cuda.is_available():
        return
    (later or torch.cuda.current_stream()).wait_stream(earlier or torch.cuda.current_stream())


def device_of(options):
    """Returns the CPU, or the GPU of the launcher's LOCAL_RANK, else of the rank modulo GPUs."""
    if options.device == "cpu":
        return torch.device("cpu")
    local = int(os.environ.get("LOCAL_RANK", options.rank % torch.cuda.device_count()))
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="images a step, over all workers")
    parser.add_argument("--microbatches", type=int, required=True, help="pieces of the batch, over all workers")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--ddp", action="store_true", help="all-reduce gradients, over Gloo, or over NCCL on GPUs; default: no communication")
    parser.add_argument("--bucket-mb", type=int, default=25)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: a GPU a process")
    parser.add_argument("--deterministic", action="store_true", help="use only deterministic kernels")
    parser.add_argument("--no-benchmark", action="store_true",
                        help="let cuDNN choose kernels by its heuristics; --tuned alone times them")
    parser.add_argument("--contiguous", action="store_true", help="contiguous memory format; --tuned alone uses channels-last")
    parser.add_argument("--tf32", action="store_true", help="compute float32 convolutions and products in TF32")
    parser.add_argument("--streams", type=int, default=1, metavar="K", help="run the micro-batches of a phase on K streams (1)")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="at the end, print the N slowest kernels and their time")
    parser.add_argument("--autocast", choices=("none", "bf16"), default="none")
    parser.add_argument("--compile", action="store_true", help="compile both networks by torch.compile")
    parser.add_argument("--reuse-fakes", action="store_true", help="generate images once a step, for both phases")
    parser.add_argument("--graph", action="store_true", help="capture a whole step as a CUDA graph and replay it")
    parser.add_argument("--images", default=FASHION_MNIST, help="images of 28 x 28 pixels (IDX, gzip)")
    parser.add_argument("--rendezvous", metavar="URL", help="rendezvous of the workers of a --ddp row: file:// or tcp://")
    options = parser.parse_args()
    if options.streams > 1 and (options.ddp or options.compile or options.reuse_fakes or not options.tuned):
        parser.error("--streams goes with --tuned, and without --ddp, --compile and --reuse-fakes")
    return options


def choose_kernels(options):
    """Sets PyTorch's flags; call it first. Float32 stays float32 without --tf32, as in Gangway."""
    torch.backends.cudnn.benchmark = options.tuned and not options.no_benchmark
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = options.tf32
    if options.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.deterministic = True
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False


def captured(step):
    """Returns a replay of `step` as a CUDA graph. Warms up on another stream, as PyTorch asks."""
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def finish(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def top_kernels(step, device, most):
    """Returns (share of all kernels' time, calls, name) of a step's `most` slowest kernels."""
    with torch.profiler.profile(activities=list(torch.profiler.supported_activities()), acc_events=True) as profile:
        step()
        finish(device)
    kernels = [event for event in profile.key_averages() if event.device_type == torch.autograd.DeviceType.CUDA]
    whole = sum(event.self_device_time_total for event in kernels)
    kernels.sort(key=lambda event: -event.self_device_time_total)
    return [(event.self_device_time_total / whole, event.count, event.key) for event in kernels[:most]]


def main():
    options = parse_options()
    torch.set_num_threads(1)
    choose_kernels(options)
    device_of(options)  # selects the GPU, which NCCL then uses
    if options.ddp:
        torch.distributed.init_process_group("gloo" if options.device == "cpu" else "nccl", init_method=options.rendezvous,
                                             rank=options.rank, world_size=options.workers)
    trainer = (BranchedTrainer if options.streams > 1 else Trainer)(options)
    step = captured(trainer.step) if options.graph else trainer.step
    print("ready", flush=True)
    for line in sys.stdin:
        warmup, steps = map(int, line.split())
        for _ in range(warmup):
            step()
        finish(trainer.device)
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        finish(trainer.device)
        print(time.perf_counter() - begin, flush=True)
    if options.top:
        for share, count, name in top_kernels(step, trainer.device, options.top):
            print(f"{100 * share:5.1f} % {count:4} {' '.join(name.split())[:120]}", flush=True)
    os._exit(0)  # skips the teardown of process groups, which may wait for a peer


if __name__ == "__main__":
    main()
