# SPDX-License-Identifier: MIT
"""Edits values in a job file's text and leaves all else as its author wrote it."""
import yaml

from gangway.errors import Failed
from gangway.job_file import loader


def edited(text: str, keys: list[str]) -> str:
    """Returns a job file's text with keys set, as "layout.buckets=4". Check the result. Raises Failed if the text is no YAML."""
    try:
        for key in keys:
            path, _, value = key.partition("=")
            text = _with_key(text, path.split("."), value)
    except yaml.YAMLError as error:
        raise Failed(f"is no YAML: {' '.join(str(error).split())}") from None
    return text


def _with_key(text: str, rest: list[str], value: str) -> str:
    root = node = yaml.compose(text, loader())
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
    return f"{text[:begin]}{'' if begin < end else ' '}{value}{text[end:]}"  # a space after "data:" without value


def _in_lines(path: list[str], value: str, depth: int) -> str:
    """Returns one line per level; the first is indented by `depth` spaces."""
    sections = "".join(f"{' ' * (depth + 2 * level)}{name}:\n" for level, name in enumerate(path[:-1]))
    return f"{sections}{' ' * (depth + 2 * (len(path) - 1))}{path[-1]}: {value}\n"


def _in_braces(path: list[str], value: str) -> str:
    return f"{path[0]}: " + (f"{{{_in_braces(path[1:], value)}}}" if path[1:] else value)
