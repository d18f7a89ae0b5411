# SPDX-License-Identifier: MIT
"""Job files as Gangway reads them: YAML 1.2's plain words, where `2e-4` is a number and `off` is a word."""
import functools
import re

from gangway.errors import Failed

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")


@functools.cache
def _loader():
    import yaml  # here: gangway doctor works without the package

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict = {}

    for tag, words, first in (("bool", r"(?:true|false)$", "tf"), ("null", r"(?:null|~|)$", ["n", "~", ""]),
                              ("int", r"[-+]?\d+$", "-+0123456789"), ("float", _NUMBER.pattern, "-+.0123456789")):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(words), list(first))
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
    Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))
    return Loader


def parse(text: str, where: str) -> dict:
    """The maps of a job file. `where` names it in errors."""
    import yaml
    try:
        job = yaml.load(text, _loader())
    except yaml.YAMLError as error:
        raise Failed(f"{where}: is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(job, dict):
        raise Failed(f"{where}: is no job file: sections are expected, as in docs/job-file.md")
    return job


@functools.cache
def _dumper():
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data):
            return True  # a value that is named twice is written twice

        def represent_undefined(self, data):
            if hasattr(data, "item") and getattr(data, "ndim", None) == 0:  # NumPy's and PyTorch's numbers
                return self.represent_data(data.item())
            raise Failed(f"a job has numbers, words, lists and maps, and no {type(data).__name__}: {data!r}")

    Dumper.add_representer(None, Dumper.represent_undefined)
    return Dumper


def text_of(value, **layout) -> str:
    """As YAML."""
    import yaml
    return yaml.dump(value, Dumper=_dumper(), **layout)


def words(keys: dict, before: str = "") -> list[str]:
    """{"training": {"kimg": 80}} as the command line takes it: ["training.kimg=80"]."""
    found = []
    for key, value in keys.items():
        if isinstance(value, dict) and value:
            found += words(value, f"{before}{key}.")
        else:
            text = text_of(value, default_flow_style=True, width=10**6).removesuffix("\n...\n").strip()
            found.append(f"{before}{key}={text}")
    return found


def edited(text: str, keys: list[str]) -> str:
    """The text of a job file with keys set, all else as its author wrote it. A value takes the place of the one that is there, or stands
    beside the keys of its section. An unusual form may come out wrong: read the result. @param keys  as "layout.buckets=4"
    Raises Failed where it is no YAML."""
    try:
        for key in keys:
            path, _, value = key.partition("=")
            text = _with_key(text, path.split("."), value)
    except yaml.YAMLError as error:
        raise Failed(f"is no YAML: {' '.join(str(error).split())}") from None
    return text


def _with_key(text: str, rest: list[str], value: str) -> str:
    root = node = yaml.compose(text, _Loader)
    while isinstance(node, yaml.MappingNode):
        found = next((value for name, value in node.value if name.value == rest[0]), None)
        if found is None:
            break
        node, rest = found, rest[1:]
        if not rest:
            return _replaced(text, node, value)
    if node is root:
        return text + ("" if text.endswith("\n") or not text else "\n") + _in_lines(rest, value, 0)
    if not isinstance(node, yaml.MappingNode):
        return _replaced(text, node, f"{{{_in_braces(rest, value)}}}")  # "layout: auto"
    place = node.start_mark.index
    if text[place] == "{":
        return f"{text[:place + 1]}{_in_braces(rest, value)}{', ' if node.value else ''}{text[place + 1:]}"
    first = node.value[0][0].start_mark
    return text[:first.index - first.column] + _in_lines(rest, value, first.column) + text[first.index - first.column:]


def _replaced(text: str, node: yaml.Node, value: str) -> str:
    begin, end = node.start_mark.index, node.end_mark.index
    return f"{text[:begin]}{'' if begin < end else ' '}{value}{text[end:]}"  # "data:", which has no value yet


def _in_lines(path: list[str], value: str, depth: int) -> str:
    """A line a level, the first one behind `depth` spaces."""
    sections = "".join(f"{' ' * (depth + 2 * level)}{name}:\n" for level, name in enumerate(path[:-1]))
    return f"{sections}{' ' * (depth + 2 * (len(path) - 1))}{path[-1]}: {value}\n"


def _in_braces(path: list[str], value: str) -> str:
    return f"{path[0]}: " + (f"{{{_in_braces(path[1:], value)}}}" if path[1:] else value)
