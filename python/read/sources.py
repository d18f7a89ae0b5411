# SPDX-License-Identifier: MIT
"""Imports the user's Python files from the texts that the job's hash covers, and from nothing else.
Reports errors in one line. Runs before python/call/support.py and before python/examples/reader.py."""
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import traceback


class Refused(Exception):
    """Says in one line why the user's code cannot be used."""


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads modules from the texts of the user's files."""

    def __init__(self):
        self.texts = {}  # dotted name -> (file below its folder, where it lies, text, whether it is a package)

    def add(self, folder, files):
        for file, text in files.items():
            parts = file[:-len(".py")].split("/")
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            known = self.texts.get(name)
            if known and known[2] != text:
                raise Refused(f"{file} is another file than {known[1]}, and both are the module {name}; rename one of them")
            if not known and (parts[0] in sys.stdlib_module_names or name in sys.modules):
                raise Refused(f"{file} has the name of a module of Python's or of a package; rename it")
            self.texts.setdefault(name, (file, os.path.join(folder, file), text, is_package))

    def find_spec(self, name, path=None, target=None):
        if name in self.texts:
            _, place, _, is_package = self.texts[name]
            spec = importlib.machinery.ModuleSpec(name, self, origin=place, is_package=is_package)
            spec.has_location = True
            return spec
        if any(other.startswith(name + ".") for other in self.texts):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ in self.texts:
            _, place, text, _ = self.texts[module.__name__]
            exec(compile(text, place, "exec", dont_inherit=True), module.__dict__)

    def file_of(self, place):
        """Returns the file of a path, as "nets.py"; None if it is not one of these texts."""
        return next((file for file, lies, _, _ in self.texts.values() if lies == place), None)

    def modules(self):
        return [sys.modules[name] for name in self.texts if name in sys.modules]


SOURCES = Sources()


def find_class(folder, files, name, class_name, base):
    """Returns a class of the user's file. Raises Refused, which lists those derived from `base`."""
    SOURCES.add(folder, files)
    name = name.removesuffix(".__init__")
    found = importlib.import_module(name)
    for part in class_name.split("."):
        if not hasattr(found, part):
            known = [key for key, value in vars(found).items()
                     if isinstance(value, type) and issubclass(value, base) and value.__module__ == name]
            raise Refused(f"has no class {part}; it has {', '.join(known) or f'none that is a {base.__name__}'}")
        found = getattr(found, part)
    return found


def remedy(error):
    """Returns what helps against mistakes that come from single-process scripts, or ""."""
    if isinstance(error, ModuleNotFoundError):
        return f"; a job's own files lie beside the one that it names, and packages in {sys.prefix}"
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "; name the class by its package: PACKAGE.MODULE:CLASS"
    if "NVIDIA driver" in str(error) or "not compiled with CUDA" in str(error):
        return "; all tensors are where the job computes: take cuda() and the like out"
    return ""


def complaint(kind, error, trace, tell):
    """Tells the trace; returns "nets.py:41 in forward: TypeError: …", the innermost user line."""
    what = str(error)
    if not isinstance(error, Refused):
        for line in "".join(traceback.format_exception(kind, error, trace)).splitlines():
            tell(line)
        what = f"{kind.__name__}: {next(iter(what.splitlines()), '')[:400]}".removesuffix(": ") + remedy(error)
    if isinstance(error, SyntaxError) and SOURCES.file_of(error.filename):
        return f"{SOURCES.file_of(error.filename)}:{error.lineno}: {what}"
    for frame in reversed(traceback.extract_tb(trace)):
        if file := SOURCES.file_of(frame.filename):
            return f"{file}:{frame.lineno} in {frame.name}: {what}"
    return what
