# SPDX-License-Identifier: MIT
"""Parses and writes job files by YAML 1.2's rules: `2e-4` is a number, `off` is a word."""
import functools
import re

from gangway.errors import Failed


@functools.cache
def loader():
    import yaml  # imported here: gangway doctor works without it

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict = {}

        def construct_mapping(self, node, deep=False):
            keys = [str(key.value) for key, _ in node.value]
            if len(set(keys)) < len(keys):  # gangway refuses this, too
                raise yaml.YAMLError(f"line {node.start_mark.line + 1}: a key is there twice")
            return super().construct_mapping(node, deep)

        def compose_node(self, parent, index):
            if self.check_event(yaml.AliasEvent):  # a few lines of them stand for gigabytes; gangway refuses them, too
                raise yaml.YAMLError("aliases (*name) are not allowed")
            return super().compose_node(parent, index)

    for tag, words, first in (("bool", r"(?:true|false)$", "tf"), ("null", r"(?:null|~|)$", ["n", "~", ""]),
                              ("int", r"[-+]?\d+$", "-+0123456789"), ("float", r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$", "-+.0123456789")):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(words), list(first))
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
    Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))
    return Loader


def parse(text: str, where: str) -> dict:
    """Returns the maps of a job file. Raises Failed, whose line names the file by `where`."""
    import yaml
    try:
        job = yaml.load(text, loader())
    except Exception as error:  # hostile text raises more than YAMLError: "!!bool x" a KeyError
        raise Failed(f"{where}: is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(job, dict):
        raise Failed(f"{where}: is no job file: sections are expected, as in docs/job-file.md")
    return job


@functools.cache
def _dumper():
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data):
            return True  # writes a shared value out each time

        def represent_undefined(self, data):
            if hasattr(data, "item") and getattr(data, "ndim", None) == 0:  # NumPy's and PyTorch's numbers
                return self.represent_data(data.item())
            raise Failed(f"a job has numbers, words, lists and maps, and no {type(data).__name__}: {data!r}")

    Dumper.add_representer(None, Dumper.represent_undefined)
    return Dumper


def text_of(value, **layout) -> str:
    """Returns the value as YAML."""
    import yaml
    return yaml.dump(value, Dumper=_dumper(), **layout)


def words(keys: dict, before: str = "") -> list[str]:
    """Turns {"training": {"kimg": 80}} into words of the command line: ["training.kimg=80"]."""
    found = []
    for key, value in keys.items():
        if isinstance(value, dict) and value and "python" not in value:  # a class and its arguments are one value
            found += words(value, f"{before}{key}.")
        else:
            text = text_of(value, default_flow_style=True, width=10**6).removesuffix("\n...\n").strip()
            found.append(f"{before}{key}={text}")
    return found
