#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One process of one row of the benchmark: trains when run.py tells it to, waits on its standard input otherwise.

Started by run.py. Reads lines "WARMUP_STEPS STEPS", trains that many steps, and answers each with the seconds that
the last STEPS took. End of input ends it.

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
    """Both networks, their optimisers and their data on one worker.

    `tuned` means: fused Adam, channels-last, no buffers broadcast, and no weight gradients of the discriminator in the
    generator phase (so none are reduced there either). Without it, everything is as in PyTorch's DCGAN tutorial with
    both networks wrapped in DistributedDataParallel. `autocast` computes forward and backward in bf16 where PyTorch
    holds that to be safe. `compile` hands each network, wrapped or not, to torch.compile. `reuse_fakes` makes the images of
    a step once for both phases, as the tutorial does and a job with training.reuse_fakes.
    """

    def __init__(self, options):
        self.tuned = options.tuned
        self.reuses_fakes = options.reuse_fakes
        self.made = []  # images of this step that the generator's phase is to learn from, by micro-batch
        self.num_images = options.batch // options.microbatches
        self.num_microbatches = options.microbatches // options.workers
        self.latent = LATENT[options.network]
        self.device = torch.device(options.device)
        # A captured step makes its casts anew each time.
        self.precision = functools.partial(torch.autocast, self.device.type, torch.bfloat16, options.autocast == "bf16",
                                           cache_enabled=not options.graph)
        self.images = Images(options.network, options.images, self.device)
        torch.manual_seed(0)
        networks = [network.train().to(self.device) for network in NETWORKS[options.network]()]
        if self.tuned:
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
        """Leaves the gradients of `network` on this worker for now."""
        network = getattr(network, "_orig_mod", network)  # of what torch.compile has made
        return network.no_sync() if isinstance(network, DistributedDataParallel) else contextlib.nullcontext()

    @staticmethod
    def loss(logits, label):
        return binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))

    def noise(self):
        return torch.randn(self.num_images, self.latent, device=self.device)

    def real_images(self):
        images = self.images.batch(torch.randint(len(self.images.pixels), (self.num_images,), device=self.device))
        return images.contiguous(memory_format=torch.channels_last) if self.tuned else images


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="images a step, over all workers")
    parser.add_argument("--microbatches", type=int, required=True, help="pieces of the batch, over all workers")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--ddp", action="store_true", help="reduce gradients over Gloo; else never talk")
    parser.add_argument("--bucket-mb", type=int, default=25)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--autocast", choices=("none", "bf16"), default="none")
    parser.add_argument("--compile", action="store_true", help="both networks by torch.compile")
    parser.add_argument("--reuse-fakes", action="store_true", help="images made once a step, for both phases")
    parser.add_argument("--graph", action="store_true", help="capture a whole step as a CUDA graph and replay it")
    parser.add_argument("--images", default=FASHION_MNIST, help="images of 28 x 28 pixels (IDX, gzip)")
    parser.add_argument("--rendezvous", metavar="URL", help="where the workers of a --ddp row find each other: file:// or tcp://")
    return parser.parse_args()


def captured(step):
    """What replays `step` as a CUDA graph. Steps on another stream come first, as PyTorch's notes on graphs ask for."""
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


def main():
    options = parse_options()
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = options.tuned
    torch.backends.cudnn.allow_tf32 = False  # float32 as it is, as Gangway has it
    if options.ddp:
        torch.distributed.init_process_group("gloo", init_method=options.rendezvous, rank=options.rank,
                                             world_size=options.workers)
    trainer = Trainer(options)
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
    os._exit(0)  # process groups have nothing to take down, and their teardown may wait for a peer


if __name__ == "__main__":
    main()
