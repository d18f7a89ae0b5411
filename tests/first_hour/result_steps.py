# SPDX-License-Identifier: MIT
"""Uses of a trained generator."""
import json
from pathlib import Path

from data_steps import image_job
from hour import ROOT, Problem, Skip
from steps import step

LOAD = """
import sys, torch
from safetensors.torch import load_file
print(sum(tensor.numel() for tensor in load_file(sys.argv[2]).values()))
try:
    import onnxruntime
except ImportError:  # ./launch/setup deploy installs it
    sys.exit(77)
session = onnxruntime.InferenceSession(sys.argv[1])
print(session.run(None, {"noise": torch.randn(2, int(sys.argv[3])).numpy()})[0].shape)
"""


def trained(hour):
    """Trains a few steps on pictures or points. Returns the size of its latent."""
    if hour.random.random() < 0.5:
        hour.note("points")
        hour.expect(hour.run(hour.job(), "-n", 2, "--run", "mine"), 0)
        return 2, "(2, 2)"
    hour.note("clothes")
    hour.expect(hour.run(*image_job(hour, "data.source=fashion-mnist"), "--run", "mine"), 0)
    return 8, "(2, 1, 32, 32)"


@step
def export_and_load(hour):
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        raise Skip("no PyTorch")
    latent, shape = trained(hour)
    for name in ("my generator.onnx", "my generator.safetensors"):
        hour.expect(hour.call(hour.gangway, "checkpoints", "export", "mine", "-o", name), 0)
        again = hour.call(hour.gangway, "checkpoints", "export", "mine", "-o", name)
        hour.expect(again, 2, 6, says="exist")
    loaded = hour.call(python, "-c", LOAD, "my generator.pt", "my generator.safetensors", latent)
    if loaded.code != 77 and (loaded.code != 0 or shape not in loaded.out):
        raise Problem(f"ONNX Runtime or PyTorch does not load it: {loaded.described()}")
    hour.expect(hour.call(hour.gangway, "checkpoints", "export", "mine", "-o", "generator.pt"), 2, says="onnx")


@step
def look_at_checkpoints(hour):
    trained(hour)
    for verb in ("ls", "verify", "show", "scrub"):
        hour.expect(hour.call(hour.gangway, "checkpoints", verb, "mine"), 0)
    hour.expect(hour.call(hour.gangway, "digest", "mine"), 0)
    hour.expect(hour.call(hour.gangway, "checkpoints", "show", "mine@7"), 5, says="step 7")
    hour.expect(hour.call(hour.gangway, "checkpoints", "rm", "mine"), 2, says="STEP|@")
    hour.expect(hour.call(hour.gangway, "digest", "mine@x"), 2, says="mine@x")
    for line in Path(hour.folder / "runs/00000-mine/stats.jsonl").read_text().splitlines():
        json.loads(line)


@step
def a_damaged_checkpoint(hour):
    trained(hour)
    newest = sorted(Path(hour.folder / "runs/00000-mine/checkpoints").glob("step-*"))[-1]
    victim = hour.random.choice(sorted(newest.iterdir()))
    content = bytearray(victim.read_bytes())
    how = hour.random.choice(["removed", "emptied", "cut", "changed"])
    hour.note(f"{victim.name} {how}")
    if how == "removed":
        victim.unlink()
    else:
        if how == "changed":
            content[hour.random.randrange(len(content))] ^= 0x10
        victim.write_bytes(b"" if how == "emptied" else content[:len(content) // 2] if how == "cut" else content)
    if hour.call(hour.gangway, "checkpoints", "verify", "mine").code not in (0, 5):
        raise Problem("verify has neither found the damage nor called it harmless")
    hour.expect(hour.call(hour.gangway, "checkpoints", "ls", "mine"), 0)


@step
def a_look_at_a_run(hour):
    trained(hour)
    for words in (["status"], ["events"], ["snapshots", "ls"], ["report"]):
        hour.expect(hour.call(hour.gangway, *words, "mine"), 0)
    hour.expect(hour.call(hour.gangway, "compare", "mine", "mine"), 0, 2)
    for words in (["status"], ["report"], ["pause"], ["set"], ["drain"]):
        more = {"set": ["output.tick_kimg=1"], "drain": ["host"]}.get(words[0], [])
        hour.expect(hour.call(hour.gangway, *words, "yours", *more), 2, 6, says="yours")
