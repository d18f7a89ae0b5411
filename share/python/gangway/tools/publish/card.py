# SPDX-License-Identifier: MIT
"""The model card, README.md with Hugging Face's header (https://huggingface.co/docs/hub/model-cards)."""
from typing import NamedTuple

from gangway import job_file

NO_FID = " It is not the FID, which uses the Inception network (docs/evaluation.md of Gangway)."
TEXT = """---
{header}---

# {name}

![{what}](samples.png)

The {weights} weights of a {network} of family {family} at step {step}, after {images} images.

- Digest of the training state: `{digest}` (`gangway digest`).
- Trained on `{data}`. Published by {made_by} on {processor}.
{scores}
## Use

```python
import numpy, onnxruntime

generator = onnxruntime.InferenceSession("generator.onnx")
(output,) = generator.run(None, {{{inputs}}})
```

{inputs_are} The output is float32{output_range}. `model.safetensors` has the same weights alone, `job.yaml` the job that trained them.

```
gangway verify .{train}
```
{training}"""
TRAINING = """
## Train on

`{checkpoint}` holds all networks, averages and the optimizers' state:

```
gangway run job.yaml --resume {checkpoint} --run NAME -n 2 data.source=images:FOLDER training.kimg={kimg}
```
"""


class Score(NamedTuple):
    name: str  # as gangway evaluate has it: "FD-LeNet"
    value: float
    samples: int


def _header(name: str, license_name: str, config: dict, scores: list[Score]) -> str:
    takes_pictures = config["inputs"][0]["name"] == "image"
    task = "image-to-image" if takes_pictures else "unconditional-image-generation"
    header = {"license": license_name, "library_name": "gangway", "pipeline_tag": task, "tags": ["gan", config["family"], "gangway", "onnx"]}
    if scores:
        metrics = [{"type": score.name.lower(), "name": score.name, "value": score.value} for score in scores]
        results = [{"task": {"type": task}, "dataset": {"name": config["data"], "type": config["data"]}, "metrics": metrics}]
        header["model-index"] = [{"name": name, "results": results}]
    return job_file.text_of(header, sort_keys=False, width=10**6)


def _example(one: dict) -> str:
    if one["name"] == "labels":
        return '"labels": numpy.arange(16) % ' + str(one["range"][1] + 1)
    shape = ["16", *(str(size if isinstance(size, int) else 256) for size in one["shape"][1:])]
    made = f"numpy.random.randn({', '.join(shape)})" if one["name"] == "noise" else f"numpy.zeros([{', '.join(shape)}])"
    return f'"{one["name"]}": {made}.astype(numpy.float32)'


def text_of(name: str, license_name: str, config: dict, scores: list[Score]) -> str:
    told = "".join(f"- {score.name} {score.value:.4g}, of {score.samples} examples.{NO_FID * score.name.startswith('FD')}\n" for score in scores)
    ranges = "" if config["output"]["range"] is None else ", pictures from -1 to 1"
    inputs = " ".join(f"`{one['name']}` is {one['type']} [{', '.join(map(str, one['shape']))}], "
                      + (one.get("distribution") or "from {} to {}".format(*one["range"])) + "." for one in config["inputs"])
    training, where = config.get("training"), config["data"]
    kimg = round(config["images"] / 1000 * 2) or 100
    repeated = f"\ngangway verify . --train {training['steps']} data.source={where}" if training and training["steps"] else ""
    return TEXT.format_map({
        **config, "header": _header(name, license_name, config, scores), "name": name, "what": f"Pictures of seeds {config['seeds']}", "scores": told,
        "inputs": ", ".join(map(_example, config["inputs"])), "inputs_are": inputs, "output_range": ranges, "train": repeated,
        "training": TRAINING.format(**training, kimg=kimg) if training else ""})
