# SPDX-License-Identifier: MIT
"""Builds micro-batches of a user's Python data set (docs/python.md). Uses PyTorch only if the user's code has imported it."""
import random
import sys

import numpy

TYPES = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"}


def seed_all(seed):
    random.seed(seed)
    numpy.random.seed(seed & 0xFFFFFFFF)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def as_tensor(name, value):
    """Returns a PyTorch tensor (on the CPU) or a NumPy array. Raises TypeError for other values."""
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor):
        return value.detach().cpu().contiguous()
    if isinstance(value, (bool, int)):
        value = numpy.asarray(value, bool if isinstance(value, bool) else numpy.int64)
    elif isinstance(value, float):
        value = numpy.float32(value)
    if not isinstance(value, (numpy.ndarray, numpy.generic)) or value.dtype.name not in TYPES:
        kind = getattr(value, "dtype", None) or type(value).__name__
        raise TypeError(f"{name} is {kind}; an example is made of tensors, arrays and numbers (bring others to such in collate)")
    return numpy.ascontiguousarray(value).reshape(numpy.shape(value))


def type_of(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def text_of(tensor):
    return f"{list(tensor.shape)} {type_of(tensor)}"


def by_name(example):
    """Returns {name: tensor} of an example: an image, (image, label) or a dict."""
    if isinstance(example, (tuple, list)) and len(example) == 2:
        example = {"image": example[0], "label": example[1]}
    elif not isinstance(example, dict):
        example = {"image": example}
    return {str(name): as_tensor(name, value) for name, value in example.items()}


def stacked(examples, indices):
    """Returns {name: tensor}, the examples stacked. Raises TypeError where their shapes differ."""
    first = examples[0]
    for index, example in zip(indices, examples):
        for name in first.keys() | example.keys():
            texts = [text_of(one[name]) if name in one else "nothing" for one in (first, example)]
            if texts[0] != texts[1]:
                raise TypeError(f"{name} is {texts[0]} in example {indices[0]} and {texts[1]} in example {index}; those of a micro-batch "
                              "are alike, or the class has a collate(examples)")
    torch, batch = sys.modules.get("torch"), {}
    for name, tensor in first.items():
        all_of_it = [example[name] for example in examples]
        if torch and isinstance(tensor, torch.Tensor):
            batch[name] = torch.stack(all_of_it)
        else:
            batch[name] = numpy.stack(all_of_it)
    return batch


def batch_of(data, indices, seeds, compare=None):
    """Returns {name: tensor} of the examples, by the class's own collate(), or each given to compare(index, seed, example), and stacked."""
    examples, collates = [], hasattr(data, "collate")
    for index, seed in zip(indices, seeds):
        seed_all(seed)
        examples.append(data[index] if collates else by_name(data[index]))
        if compare and not collates:
            compare(index, seed, examples[-1])
    if not collates:
        return stacked(examples, indices)
    made = data.collate(examples)
    if not isinstance(made, dict):
        raise TypeError(f"collate returns a {type(made).__name__}; it returns a dict of tensors, of a micro-batch")
    batch = {str(name): as_tensor(name, value) for name, value in made.items()}
    for name, tensor in batch.items():
        if len(tensor.shape) == 0 or tensor.shape[0] != len(indices):
            raise TypeError(f"collate makes {name} {text_of(tensor)} of {len(indices)} examples; its first size is their number")
    return batch
