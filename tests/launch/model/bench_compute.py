#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway bench compute` on a small job: every layer and part has a time and a share of the core's peak rate."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

GANGWAY = Path(os.environ["GANGWAY_BIN"]) / "gangway"
JOB = """
model: {family: dcgan, resolution: 32, width: 8, latent: 16}
data: {source: fashion-mnist}
training: {batch: 8, microbatches: 2}
"""


def bench(job, *words):
    return subprocess.run([GANGWAY, "bench", "compute", job, "--anyway", "--seconds", "0.02", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)


def rows_of(job, *words):
    result = bench(job, "--json", *words)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    rows = report["rows"]
    for step in report["steps"]:
        assert 0.0 < step["product_seconds"] < step["seconds"] and step["gflop"] > 0.0 and step["bytes"] > 0.0, step
    assert [step["precision"] for step in report["steps"]] == sorted({row["precision"] for row in rows}, reverse=True)
    for row in rows:
        assert row["share"] > 0.0, row  # other load may slow the reference more, so it may be above 1
        assert row["seconds"] > 0.0, row
    return rows


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.yaml"
        job.write_text(JOB)
        rows = rows_of(str(job))
        assert {row["precision"] for row in rows} == {"fp32"}
        # Four maps in each network; a layer follows all but the discriminator's last.
        maps = [row for row in rows if "gflops" in row]
        assert len(maps) == 8 * 3, maps
        assert {row["part"] for row in maps} == {"forward", "input gradient", "weight gradient"}
        assert len(rows) - len(maps) == 7 * 2, rows
        assert {row["layer"] for row in rows} == {f"{n}/{i}" for n in ("generator", "discriminator") for i in range(4)}

        both = rows_of(str(job), "numerics.precision=bf16")
        assert len(both) == 2 * len(rows), both
        assert {row["precision"] for row in both} == {"fp32", "bf16"}

        table = bench(str(job), "training.batch=4")
        assert table.returncode == 0 and "weight gradient" in table.stdout, table
        assert "4 images, fp32" in table.stdout and "beside float64" not in table.stdout, table
        table = bench(str(job), "training.r1={gamma: 1}", "training.batch=4")
        assert "R1" in table.stdout and "beside float64" in table.stdout, table

        for words, said in ((["numerics.device=cuda"], "numerics.device=cpu"), (["training.bach=4"], "training.batch")):
            result = bench(str(job), *words)
            assert result.returncode == 2 and said in result.stderr, result
    print("bench compute: every layer")


if __name__ == "__main__":
    main()
