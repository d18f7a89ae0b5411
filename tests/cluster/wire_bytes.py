#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each host of an emulated cluster sends the bytes of the formula in a training, for any number of its workers.

    GANGWAY_BIN=$PWD/build/release/bin wire_bytes.py [unittest arguments]        exit code 77: no cluster here

The test writes the formula of docs/communication.md independently, for the networks of examples/ring8.yaml.
"""
import json
import re

from hosts import main
from train_on_hosts import RING, SMALL, OnHosts, run_line

WIDTH = 512
LATENT = 2
TENSOR, BLOCK = 64, 4096  # elements: tensors begin at multiples of TENSOR, slices consist of BLOCKs
BUCKETS = 8
FLOAT = 4  # bytes
BATCH = 168  # images; a multiple of 4 and 6
STEPS = 4, 24
MEBIBYTE = 2**20
# Share of the switch's count: headers, acknowledgements, heartbeats, reports to the coordinator.
OVERHEAD = 0.02


def blocks(inputs, outputs):
    """Returns the blocks of an arena of three hidden layers, each of which begins at the next block."""
    layers = ((inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, outputs))
    return sum(-(-sum(-(-size // TENSOR) * TENSOR for size in (inner * outer, outer)) // BLOCK) for inner, outer in layers)


def slices(num_blocks, workers):
    """Returns the blocks of each worker, by bucket. The last bucket is a quarter of the other ones."""
    cuts = [num_blocks * 4 * i // (4 * (BUCKETS - 1) + 1) for i in range(BUCKETS)] + [num_blocks]
    for begin, end in zip(cuts, cuts[1:]):
        yield [(end - begin) * (w + 1) // workers - (end - begin) * w // workers for w in range(workers)]


def subtrees(held, begin, end):
    """Returns the number of nodes of the tree over micro-batches [begin, end) that make up the held ones."""
    if held.issuperset(range(begin, end)):
        return 1
    if held.isdisjoint(range(begin, end)):
        return 0
    middle = begin + (end - begin) // 2
    return subtrees(held, begin, middle) + subtrees(held, middle, end)


def bytes_a_step(places):
    """Returns bytes by host. Slices go to each owner on other hosts once per subtree, weights to each other host once.

    places: (host, its micro-batches) of each worker
    """
    hosts = list(dict.fromkeys(host for host, _ in places))
    microbatches = places[-1][1].stop
    sent = []
    for own in hosts:
        sums = subtrees({number for host, held in places if host == own for number in held}, 0, microbatches)
        sent.append(FLOAT * BLOCK * sum(
            size * (len(hosts) - 1 if places[owner][0] == own else sums)
            for num_blocks in (blocks(LATENT, 2), blocks(2, 1))
            for owned in slices(num_blocks, len(places)) for owner, size in enumerate(owned)))
    return sent


class WireBytes(OnHosts):
    def run_directory(self, run):
        return next((self.folder / "runs").glob(f"*-{run}"))

    def places(self, run):
        _, *workers = json.loads((self.run_directory(run) / "placement.json").read_text())["ranks"]
        return [(worker["host"], range(*worker["microbatches"])) for worker in workers]

    def sent_by_hosts(self, cluster, run, *arguments):
        """Runs on a new cluster. Returns the switch's counts by host, and the workers' counts."""
        hosts, _, slots = cluster.partition("x")
        lines = ["set -e", run_line(run, int(hosts) * int(slots), *arguments)]
        lines += [f"bytes host{number}" for number in range(1, int(hosts) + 1)]
        code, out, err = self.call_inside(cluster, "\n".join(lines))
        self.assertEqual(code, 0, out + err)
        counted = [int(sent) for sent in re.findall(r"^sent (\d+) received \d+$", out, re.MULTILINE)]
        ticks = map(json.loads, (self.run_directory(run) / "stats.jsonl").read_text().splitlines())
        last = list(ticks)[-1]
        return counted, round(last["sent_mib_per_step"] * last["step"] * MEBIBYTE)

    def check(self, cluster, microbatches, transport):
        few, many = STEPS
        job = [f"training.batch={BATCH}", f"training.microbatches={microbatches}", f"model.width={WIDTH}",
               "output.tick_kimg=1000", "layout.check_steps=0",
               "checkpoint.snapshot_steps=0"]  # without copies for buddies
        # No calibration, which sends many messages; no overlap, which ends after the last tick.
        layout = [f"layout.transport={transport}", "layout.overlap=none"]
        kimg_few, kimg_many = (f"training.kimg={steps * BATCH / 1000}" for steps in STEPS)
        at_start, _ = self.sent_by_hosts(cluster, "few", *job, kimg_few, *layout)
        at_end, payload = self.sent_by_hosts(cluster, "many", *job, kimg_many, *layout)
        self.train(RING, *SMALL, *job, kimg_many, run="one", workers=1)
        self.assertEqual(self.digest("many"), self.digest("one"))

        expected = bytes_a_step(self.places("many"))
        self.assertEqual(payload, many * sum(expected))
        for before, after, formula in zip(at_start, at_end, expected, strict=True):
            on_link = (after - before) / (many - few)  # without the start's bytes
            print(f"{cluster}, {microbatches} micro-batches: {on_link:.0f} bytes a step, payload {formula}: "
                  f"{on_link / formula:.4f}")
            self.assertGreater(on_link, formula)
            self.assertLess(on_link, formula * (1 + OVERHEAD))

    def test_of_four_hosts_with_a_worker_each(self):
        self.check("4x1", 4, "mpi")

    def test_of_hosts_whose_micro_batches_are_no_whole_subtree(self):
        self.check("3x2", 6, "hierarchical")  # (0 1) of the tree's (0 (1 2)), and (2 3) of both halves: two sums each


if __name__ == "__main__":
    main()
