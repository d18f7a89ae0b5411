# SPDX-License-Identifier: MIT
"""Times a run's generator in each engine and precision, and compares its pictures and their score."""
import json
import os
import statistics
import sys
from pathlib import Path

from gangway.errors import ENVIRONMENT, Failed
from gangway.tools.bench import parser_of
from gangway.tools.bench.state import percentile
from gangway.tools.command_line import listed, number, one_of, table, whole_number
from gangway.tools.exported import Exported, export, largest_difference, told_by
from gangway.tools.machine import Progress, processor, require_quiet_machine
from gangway.tools.measured import scratch_folder
from gangway.tools.trial_runs import SIGNALLED

# In which precisions an engine computes on CPUs: ONNX Runtime has no bf16 there, PyTorch and we no quantised files.
ENGINES = {"gangway": ("fp32", "bf16"), "onnxruntime": ("fp32", "int8"), "openvino": ("fp32", "bf16", "int8"), "pytorch": ("fp32", "bf16")}
EAGER = "pytorch"
FEATURES = {"bf16": ("avx512_bf16", "amx_bf16"), "int8": ("avx512_vnni", "avx_vnni", "amx_int8")}
INPUTS = 32  # examples


def processor_features() -> set[str]:
    return set(processor("flags").split())


def interface_of(file) -> str:
    """Returns an ONNX file's inputs and outputs with their sizes behind the batch, "noise [64]"; "any": pixels, for example."""
    import onnx
    graph = onnx.load(file, load_external_data=False).graph
    sizes = {one.name: [str(axis.dim_value or "any") for axis in one.type.tensor_type.shape.dim[1:]] for one in (*graph.input, *graph.output)}
    return ", ".join(f"{name} [{', '.join(axes)}]" for name, axes in sizes.items())


def require_quantised(int8: str, exported: Exported) -> None:
    """Raises Failed if the file is no ONNX file, or has other inputs or outputs than the run's generator."""
    ours = interface_of(exported.onnx)
    try:
        theirs = interface_of(int8)
    except Exception:  # a damaged file may raise anything
        raise Failed(f"--int8 {int8}: is no ONNX file; `gangway quantize` makes one") from None
    if ours != theirs:
        raise Failed(f"--int8 {int8}: is of another network: it has {theirs or 'no inputs'}, and the run {ours}; `gangway quantize` makes a "
                     "file of this run")


class InferenceBench:
    """Measures rows of (engine, precision, batch, threads). `left_out`: a line for each that fails; `code`: the exit code of the last."""

    def __init__(self, exported: Exported, engines, int8: str | None, deadline: float):
        self.exported, self.int8, self.deadline, self.left_out, self.versions, self.code = exported, int8, deadline, [], {}, ENVIRONMENT
        self.variants = [(engine, precision) for engine in engines for precision in ENGINES[engine]]
        features = processor_features()
        if not features.intersection(FEATURES["bf16"]):
            self._leave_out("bf16", f"this processor has none of {', '.join(FEATURES['bf16'])}", lambda one: one[1] == "bf16")
        if not int8:
            self._leave_out("int8", "give a file of `gangway quantize` by --int8", lambda one: one[1] == "int8")
        elif not features.intersection(FEATURES["int8"]):
            self.left_out.append("int8: this processor has no VNNI, so expect little of it")

    def _leave_out(self, name: str, why: str, is_meant) -> None:
        self.variants = [one for one in self.variants if not is_meant(one)]
        self.left_out.append(f"{name}: left out: {why}")

    def told(self, engine: str, precision: str, inputs: Path, batch: int, threads: int, *words) -> dict:
        model = self.int8 if precision == "int8" else self.exported.onnx
        told = told_by([*self.exported.words(engine, model, precision, inputs, batch, threads), *words], self.deadline, " (--deadline)")
        self.versions[engine] = told["version"]
        return told

    def attempted(self, variant, measure):
        """Returns measure()'s result. If it fails, leaves the variant out of all rows, and returns None."""
        try:
            return measure()
        except Failed as error:
            if error.code > SIGNALLED:
                raise
            self._leave_out(" ".join(variant), error.line, variant.__eq__)
            self.code = error.code if error.code > 1 else ENVIRONMENT
            return None

    def pictures(self, samples: int | None, batch: int, threads: int) -> dict:
        """Returns "difference" and "score" of each variant. @param samples  None: the job's; 0: no scores"""
        is_scored, inputs, found, expected = samples != 0, None, {}, None
        if is_scored:
            try:
                inputs = self.exported.inputs("evaluation", "--evaluation", *(["--samples", samples] if samples else []))
            except Failed as error:
                is_scored = False
                self.left_out.append(f"score: left out: {error.line}")
        inputs = inputs or self.exported.inputs("seeds", "--seeds", f"0-{INPUTS - 1}")

        for variant in list(self.variants):
            made = self.exported.folder / f"{'-'.join(variant)}.safetensors"

            def figures():
                self.told(*variant, inputs, batch, threads, "--made", made)
                difference = largest_difference(made, expected) if expected else None
                return {"difference": difference, **(self.exported.score_of(made) if is_scored else {})}
            if (one := self.attempted(variant, figures)) is not None:
                found[variant] = one
                expected = expected or made  # the first variant is fp32: the others are compared with it
            if made != expected:
                made.unlink(missing_ok=True)
        return found

    def rows(self, batches, threads, rounds: int, seconds: float, progress) -> list[dict]:
        """Returns the rows. They take turns, each turn in a new process; another goes first in each round."""
        inputs = self.exported.inputs("timing", "--seeds", f"0-{max(batches) - 1}")
        rows = {(*variant, batch, count): {"seconds": [], "peak_bytes": 0} for batch in batches for count in threads
                for variant in self.variants}
        for turn in range(rounds):
            order = list(rows)
            first = turn * len(order) // rounds
            for key in order[first:] + order[:first]:
                engine, precision, batch, count = key
                progress(f"round {turn + 1} of {rounds}: {engine} {precision}, batch {batch}")
                if key[:2] not in self.variants:
                    continue
                told = self.attempted(key[:2], lambda: self.told(engine, precision, inputs, batch, count, "--seconds", seconds))
                if told:
                    rows[key]["seconds"] += told["seconds"]
                    rows[key]["peak_bytes"] = max(rows[key]["peak_bytes"], told["peak_bytes"])
        found = []
        for (engine, precision, batch, count), row in rows.items():
            if (engine, precision) in self.variants and row["seconds"]:
                median = statistics.median(row["seconds"])
                found.append({"engine": engine, "precision": precision, "batch": batch, "threads": count, "p50_ms": 1e3 * median,
                              "p99_ms": 1e3 * percentile(row["seconds"], 99), "least_ms": 1e3 * min(row["seconds"]), "calls": len(row["seconds"]),
                              "images_per_second": batch / median, "peak_mib": row["peak_bytes"] / 2**20})
        return found


def ratios_of(rows: list[dict]) -> list[dict]:
    """Returns for each batch and number of threads how much faster the best row is than that which it is compared with."""
    ratios = []
    for batch, threads in dict.fromkeys((row["batch"], row["threads"]) for row in rows):
        rate = {(row["engine"], row["precision"]): row["images_per_second"] for row in rows
                if (row["batch"], row["threads"]) == (batch, threads)}
        fastest = max((one for one in rate if one[1] == "fp32" and one[0] != EAGER), key=rate.get, default=None)
        pairs = [(fastest, (EAGER, "fp32"))] if fastest else []
        pairs += [(one, (one[0], "fp32")) for one in rate if one[1] != "fp32"]
        ratios += [{"batch": batch, "threads": threads, "row": " ".join(one), "than": " ".join(other), "ratio": rate[one] / rate[other]}
                   for one, other in pairs if other in rate]
    return ratios


def bench_inference(run: str, *, outdir: str = "runs", engines=tuple(ENGINES), batches=(1, 8, 32), threads=(1,), int8: str | None = None,
                    samples: int | None = None, rounds: int = 3, seconds: float = 0.5, deadline: float = 600, anyway: bool = False) -> dict:
    """Returns the report. @param run  RUN or RUN@STEP; samples: None: the job's number, 0: no score; seconds: of a turn; deadline: of a process"""
    with scratch_folder() as folder:
        exported = export(run, outdir, folder)
        if int8:
            require_quantised(int8, exported)
        bench = InferenceBench(exported, engines, int8, deadline)
        require_quiet_machine(anyway)
        report = {"run": run, "processor": processor(), "features": sorted(processor_features().intersection(sum(FEATURES.values(), ()))),
                  "load_before": os.getloadavg()}
        pictures = bench.pictures(samples, max(batches), max(threads))
        with Progress(rounds * len(batches) * len(threads) * len(bench.variants), sys.stderr) as shown:
            rows = bench.rows(batches, threads, rounds, seconds, lambda what: shown.advance(1, what))
    if not rows:
        raise Failed(f"{run}: nothing could be measured; {bench.left_out[-1]}", bench.code)
    rows = [row | pictures[row["engine"], row["precision"]] for row in rows]
    require_quiet_machine(anyway=True)
    return report | {"load_after": os.getloadavg(), "versions": bench.versions, "rounds": rounds, "rows": rows, "ratios": ratios_of(rows),
                     "left_out": bench.left_out}


def text_of(report: dict) -> str:
    metrics = [row["metric"] for row in report["rows"] if "metric" in row]
    titles = ["engine", "precision", "batch", "threads", "p50 ms", "p99 ms", "images/s", "peak MiB", "difference", *metrics[:1]]
    cells = [[row["engine"], row["precision"], str(row["batch"]), str(row["threads"]), f"{row['p50_ms']:.3f}", f"{row['p99_ms']:.3f}",
              f"{row['images_per_second']:.1f}", f"{row['peak_mib']:.0f}", "-" if row["difference"] is None else f"{row['difference']:.1e}",
              *([f"{row['score']:.4g}"] if metrics else [])] for row in report["rows"]]
    load = "{:.2f} {:.2f} {:.2f}".format
    lines = [f"{report['processor']}, {' '.join(report['features']) or 'neither VNNI nor bf16'}; load before "
             f"{load(*report['load_before'])}, after {load(*report['load_after'])}", "; ".join(report["versions"].values()), *report["left_out"]]
    ratios = [f"batch {one['batch']}, threads {one['threads']}: {one['row']} is {one['ratio']:.2f} times as fast as {one['than']}"
              for one in report["ratios"]]
    return "\n".join([*lines, "", table(titles, cells, left=2), *ratios]) + "\n"


def command(words: list[str]) -> None:
    parser = parser_of("inference", "inference fashion-mnist --threads 1,2\ninference fashion-mnist --int8 g.int8.onnx --samples 2000")
    parser.add_run()
    parser.add_argument("--engines", type=listed(one_of(*ENGINES)), default=list(ENGINES), help=f"engines ({','.join(ENGINES)})")
    parser.add_argument("--batches", type=listed(whole_number(1, 4096)), default=[1, 8, 32], help="examples a call (1,8,32)")
    parser.add_argument("--threads", type=listed(whole_number(1, 1024)), default=[1], help="threads of a process (1)")
    parser.add_argument("--int8", metavar="FILE", help="quantised file, as `gangway quantize` makes it")
    parser.add_argument("--samples", type=whole_number(0, 10**6), metavar="N",
                        help="pictures that are scored; 0: no score; default: evaluation.images of the job")
    parser.add_count("--rounds", default=3, what="rounds, each of which measures every row")
    parser.add_argument("--seconds", type=number(1e-9), default=0.5, help="seconds of a row in a round (%(default)s)")
    parser.add_argument("--deadline", type=number(0.1), default=600, help="seconds that one process may take (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    line = vars(parser.parse_args(words))
    is_json = line.pop("json")
    if line["int8"] and not Path(line["int8"]).is_file():
        raise Failed(f"--int8 {line['int8']}: there is no such file; `gangway quantize` makes one")
    report = bench_inference(**line)
    print(json.dumps(report) if is_json else "\n" + text_of(report), end="\n" if is_json else "", flush=True)
