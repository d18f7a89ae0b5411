# SPDX-License-Identifier: MIT
"""Names classes that a caller gives as objects as a job file does. Writes those of a script or notebook to a file (docs/from-python.md)."""
import ast
import builtins
import math
import re
import symtable
import sys
import sysconfig
import types
from pathlib import Path

from gangway.errors import Failed

_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def is_given(value) -> bool:
    """Returns whether it is a class (or a function that makes a network), or one with arguments."""
    made = value[0] if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict) else value
    return isinstance(made, (type, types.FunctionType))


def _place_of(module) -> Path | None:
    """Returns the file of a module, the folder of a package without one; None: built in."""
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    return Path(place).resolve() if place else None


def _is_own(module) -> bool:
    """Returns whether a module is neither Python's nor an installed package's."""
    place = _place_of(module)
    return place is not None and module.__name__.partition(".")[0] != "gangway" and not any(
        place.is_relative_to(folder) for folder in _INSTALLED) and not {"site-packages", "dist-packages"} & set(place.parts)


def _is_plain(value) -> bool:
    """Returns whether repr() of a value makes the value again."""
    if isinstance(value, float):
        return math.isfinite(value)
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (int, bool, str, bytes)


def _own_folders(text: str) -> set[Path]:
    """Returns the folders of the user's own modules that a text imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [
            alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in (sys.modules.get(name.partition(".")[0]) for name in names):
            if module is not None and _is_own(module):
                place = _place_of(module)
                found.add(place.parent.parent if place.name == "__init__.py" else place.parent)
    return found


class _Statement:
    """Holds a statement of __main__ at its top level."""

    def __init__(self, cell: str, text: str, node: ast.stmt):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        self.node, self.cell, self.line = node, cell, first
        # Several statements may share a line: only a definition is taken as lines, for its decorators.
        self.text = ("\n".join(text.split("\n")[first - 1:node.end_lineno]) if isinstance(node, _DEFINITIONS)
                     else ast.get_source_segment(text, node))

    def is_future(self) -> bool:
        """Returns whether it is `from __future__ import x`, which has to be first in a file."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    def is_guarded(self) -> bool:
        """Returns whether it is `if __name__ == "__main__":`."""
        return isinstance(self.node, ast.If) and any(isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(self.node.test))

    def bound(self) -> set[str]:
        """Returns the names that it binds at the top level; "*" for those of `from x import *`."""
        names, todo = set(), [self.node]
        while todo:
            node = todo.pop()
            if isinstance(node, _DEFINITIONS):
                names.add(node.name)
            elif isinstance(node, _IMPORTS):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                names |= {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
                todo += ast.iter_child_nodes(node)
        return names

    def used(self) -> dict[str, bool]:
        """Returns the global names that it reads, and whether it reads them at once: not in a call."""
        names, todo = {}, [(symtable.symtable(self.text, self.cell, "exec"), True)]
        while todo:
            table, is_at_once = todo.pop()
            is_at_once = is_at_once and table.get_type() != "function"
            for one in table.get_symbols():
                if one.is_referenced() if table.get_type() == "module" else one.is_global():
                    names[one.get_name()] = is_at_once or names.get(one.get_name(), False)
            todo += [(child, is_at_once) for child in table.get_children()]
        return names | (dict.fromkeys(self.bound(), True) if isinstance(self.node, ast.AugAssign) else {})


def _cells() -> tuple[list[tuple[str, str]], dict]:
    """Returns (name, text) of the script, or of each cell of the notebook so far; and its names."""
    main = sys.modules["__main__"]
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        return [(f"cell {number}", text) for number, text in enumerate(shell.user_ns["In"]) if text], shell.user_ns
    if not getattr(main, "__file__", None):
        raise Failed("python -c and Python's prompt keep no source of a class: put it in a file, or use IPython or a notebook")
    return [(Path(main.__file__).name, Path(main.__file__).read_text())], vars(main)


class _Extract:
    """Collects what classes of __main__ need: imports, definitions, and plain values as they are."""

    def __init__(self):
        cells, self.values = _cells()
        self.file = "from_notebook.py" if cells[0][0].startswith("cell ") else "from_script.py"
        self.statements: list[_Statement] = []
        for cell, text in cells:
            try:
                self.statements += [_Statement(cell, text, node) for node in ast.parse(text).body]
            except SyntaxError:  # a cell that failed
                continue
        self.binders: dict[str, list[int]] = {}
        for index, statement in enumerate(self.statements):
            for name in statement.bound():
                self.binders.setdefault(name, []).append(index)
        # By statement: its lines as "", or a value by its name.
        self.taken: dict[int, dict[str, list[str]]] = {index: {"": one.text.split("\n")} for index, one in enumerate(self.statements)
                                                       if one.is_future()}

    def take(self, name: str, before: int | None = None) -> None:
        """Takes the statement that binds the name, and what that needs. @param before  only an earlier one: its value is needed at once"""
        all_of_it = self.binders.get(name) or ([] if hasattr(builtins, name) else self.binders.get("*", []))
        found = [index for index in all_of_it if before is None or index < before]
        is_defined = bool(found) and isinstance(self.statements[found[-1]].node, (*_DEFINITIONS, *_IMPORTS))
        if found and not is_defined and _is_plain(self.values.get(name, ...)):
            self.taken.setdefault(found[0], {})[name] = [f"{name} = {self.values[name]!r}"]
            return
        for index in found[-1:] if name in self.binders else found:
            statement = self.statements[index]
            if "" in self.taken.get(index, {}):
                continue
            if isinstance(statement.node, _LOOPS) or statement.is_guarded():
                raise Failed(f"{statement.cell}:{statement.line} makes {name} in a loop or under __name__, which no worker runs: make it "
                             "in a statement of its own")
            self.taken.setdefault(index, {})[""] = self._lines(statement)
            for other, is_at_once in sorted(statement.used().items()):
                self.take(other, index if is_at_once else None)

    def _lines(self, statement: _Statement) -> list[str]:
        node = statement.node
        if isinstance(node, ast.ImportFrom) and node.level > 0:  # python -m package.script
            package = (self.values.get("__package__") or "").split(".")
            base = package[:len(package) - node.level + 1] + ([node.module] if node.module else [])
            statement.text = ast.unparse(ast.ImportFrom(".".join(base), node.names, 0))
        return statement.text.split("\n")

    def written(self, folder: Path) -> list[tuple[str, int]]:
        """Writes the file, and links to the files beside modules of the user's that it imports. Returns each line's place."""
        lines, places, folders = [], [], set()
        for index in sorted(self.taken, key=lambda index: (not self.statements[index].is_future(), index)):
            statement = self.statements[index]
            for taken in self.taken[index].values():
                lines += taken
                places += [(statement.cell, statement.line + number) for number in range(len(taken))]
            folders |= _own_folders("\n".join(self.taken[index].get("", ())))
        for one in [one for own in sorted(folders) for one in own.iterdir()]:
            if (one.suffix == ".py" or one.is_dir()) and not (folder / one.name).is_symlink():
                (folder / one.name).symlink_to(one)
        (folder / self.file).write_text("\n".join([*lines, ""]))
        return places


class Classes:
    """Names the classes of one job. `folder`: of the file with those of __main__."""

    def __init__(self, folder: Path):
        self._folder, self._extract = folder, None
        self._installed, self._places = {}, []

    def named(self, value, key: str):
        """Returns the value with each class in it as a job names it. Raises Failed with `key`."""
        if isinstance(value, dict):
            return {name: self.named(one, f"{key}.{name}") for name, one in value.items()}
        if not is_given(value):
            return value
        made, arguments = value if isinstance(value, tuple) else (value, {})
        try:
            return {"python": self._name(made), **arguments}
        except Failed as failed:
            raise Failed(f"{key}: {failed}", failed.code) from None

    def _name(self, made) -> str:
        name = made.__qualname__
        if "<" in name:
            raise Failed(f"{name} is made inside a function, and workers import it by its name: define it at the top of a file or cell")
        if made.__module__ == "__main__":
            return self._name_in_main(made, name)
        module = sys.modules[made.__module__]
        if not _is_own(module):  # the job's hash has the import; packages belong to the environment
            file = self._folder / f"from_{made.__module__.replace('.', '_')}.py"
            self._installed.setdefault(file, set()).add(name.partition(".")[0])
            file.write_text("".join(f"from {made.__module__} import {one}\n" for one in sorted(self._installed[file])))
            return f"{file}:{name}"
        place = _place_of(module)
        parts = module.__name__.split(".") + (["__init__"] if place.name == "__init__.py" else [])
        return f"{place}:{name}" if len(parts) == 1 else f"{place.parents[len(parts) - 1]}/{'.'.join(parts)}:{name}"

    def _name_in_main(self, made, name: str) -> str:
        self._extract = self._extract or _Extract()
        first = name.partition(".")[0]
        if first not in self._extract.binders:
            raise Failed(f"the source of {name} was not found in {sys.modules['__main__'].__dict__.get('__file__', 'the notebook')}: "
                         "put it in a file of its own")
        if "." not in name and self._extract.values.get(name) is not made:
            raise Failed(f"{name} was defined again since: give the newest class of that name")
        self._extract.take(first)
        self._places = self._extract.written(self._folder)
        return f"{self._folder / self._extract.file}:{name}"

    def told(self, line: str) -> str:
        """Returns a line of output with the places of the script or of the notebook's cells."""
        def place(found):
            number = int(found[1])
            return "{}:{}".format(*self._places[number - 1]) if 0 < number <= len(self._places) else found[0]
        return re.sub(r"\bfrom_(?:script|notebook)\.py:(\d+)", place, line) if self._places else line
