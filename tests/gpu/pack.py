#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs files that a bare GPU machine lacks for tests/gpu/run, into one archive that its Python opens (xz):

    tests/gpu/pack.py [--programs DIR...] [--images DIR] ARCHIVE        where the programs were built
    python3 -m tarfile -e ARCHIVE FOLDER && . FOLDER/env             there; then tests/gpu/run --parts visit FOLDER/bin

The archive has the programs, their libraries, and Open MPI's plugins and launcher, stripped. It has no libraries of glibc,
LibTorch and NVIDIA: the GPU machine has them at the same versions, with python3's torch. FOLDER/env puts the archive's files
before the machine's own Open MPI, which stays unchanged. --images adds the training images of Fashion-MNIST, or of a similar
folder. --python adds the running Python with its PyTorch's Python files, for jobs with networks in Python, if the machine's
Python has another version.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from steps import PROGRAMS, SOURCE, find_programs

STARTED = ("gangway", "gangway-tools", "gangway-coordinator", "gangway-worker-cuda", "gangway-model", "gangway-model-cuda", "gangway-bench-allreduce",
           "gangway-bench-nccl", "gangway-control", "libgangway-python.so")
LAUNCHERS = ("mpirun", "orted")
THERE = re.compile(r"/(torch|nvidia)/|/cuda|/(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|librt|libutil|libresolv"
                   r"|ld-linux-x86-64|libcuda|libnvidia-ml)\.so")
# Plugins for fast networks and OpenSHMEM, which need many libraries.
NEEDLESS = re.compile(r"ofi|ucx|usnic|psm|verbs|openib|portals|oshmem|spml|scoll|sshmem|memheap|atomic")
ENVIRONMENT = """# Sourced on the machine with a GPU.
gangway_brought=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gangway_site=$(python3 -c 'from importlib.util import find_spec as f; print(f("torch").origin.rsplit("/torch/", 1)[0])')
export LD_LIBRARY_PATH=$gangway_brought/lib:$gangway_site/torch/lib:$(ls -d $gangway_site/nvidia/*/lib | paste -sd:)
export PATH=$gangway_brought/bin:$PATH GANGWAY_BIN=$gangway_brought/bin
unset OPAL_PREFIX OMPI_HOME $(env | sed -n 's/^\\(OMPI_MCA_[^=]*\\|PMIX_MCA_[^=]*\\|PMIX_[^=]*\\)=.*/\\1/p')
export OPAL_PREFIX=$gangway_brought OPAL_BINDIR=$gangway_brought/bin OPAL_LIBDIR=$gangway_brought/lib
export OPAL_PKGLIBDIR=$gangway_brought/plugins OPAL_PKGDATADIR=$gangway_brought/share/openmpi
export OPAL_DATADIR=$gangway_brought/share OPAL_SYSCONFDIR=$gangway_brought/etc
export OMPI_MCA_mca_base_component_path=$gangway_brought/plugins OMPI_MCA_orte_launch_agent=$gangway_brought/bin/orted
export PMIX_INSTALL_PREFIX=$gangway_brought/pmix2 PMIX_MCA_mca_base_component_path=$gangway_brought/pmix2/lib/pmix
export PMIX_MCA_pcompress_base_silence_warning=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader,tcp OMPI_MCA_rmaps_base_oversubscribe=1
[ ! -d $gangway_brought/images ] || export GANGWAY_FASHION_MNIST=$gangway_brought/images
"""
# The rest of PyTorch is the machine's. Gangway uses the PyTorch whose Python is beside libtorch_cpu.so.
PYTHON_ENVIRONMENT = """
export GANGWAY_BROUGHT_PYTHON=$gangway_brought/python
gangway_packages=$GANGWAY_BROUGHT_PYTHON/lib/%(version)s/site-packages
if [ ! -e $gangway_packages/nvidia ]; then
  cp $gangway_site/torch/lib/libtorch_cpu.so $gangway_packages/torch/lib
  for gangway_file in $gangway_site/torch/lib/*; do
    [ -e $gangway_packages/torch/lib/${gangway_file##*/} ] || ln -s $gangway_file $gangway_packages/torch/lib
  done
  ln -s $gangway_site/torch/bin $gangway_packages/torch
  printf 'home = %%s\ninclude-system-site-packages = false\n' $gangway_brought/python-base/bin > $GANGWAY_BROUGHT_PYTHON/pyvenv.cfg
  ln -s $gangway_site/nvidia $gangway_packages
fi
"""
PACKAGES = ("torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "filelock", "fsspec")
OF_TORCH = ("libtorch_python.so", "libshm.so")  # depend on the version of Python


def libraries_of(file):
    """Returns the libraries of `file` that the other machine lacks: paths by name."""
    said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE))
    return {name: path for name, path in found.items() if not THERE.search(path)}


def folder_of_openmpi():
    """Returns Debian's plugins. @raise FileNotFoundError"""
    for folder in sorted(Path("/usr/lib").glob("*/openmpi/lib/openmpi3")):
        return folder
    raise FileNotFoundError("no plugins of Open MPI in /usr/lib/*/openmpi: ./launch/setup installs openmpi-bin")


def gather(folder, programs, images):
    """Puts the archive's content into `folder`."""
    for part in ("bin", "lib", "plugins", "etc", "share"):
        (folder / part).mkdir(parents=True)
    taken = [*programs, *(Path(shutil.which(name)) for name in LAUNCHERS)]
    for program in taken:
        shutil.copy(program, folder / "bin" / program.name)
    plugins = folder_of_openmpi()
    for plugin in plugins.glob("*.so"):
        if not NEEDLESS.search(plugin.name):
            shutil.copy(plugin, folder / "plugins")
    shutil.copytree(plugins.parents[2] / "pmix2", folder / "pmix2", ignore=shutil.ignore_patterns("include", "*.a"))
    shutil.copytree("/usr/share/openmpi", folder / "share/openmpi", symlinks=False)
    shutil.copytree("/etc/openmpi", folder / "etc", dirs_exist_ok=True)
    shutil.copytree(SOURCE / "share", folder / "share/gangway", ignore=shutil.ignore_patterns("__pycache__"))
    for file in [*taken, *(folder / "plugins").iterdir(), *(folder / "pmix2").rglob("*.so")]:
        for name, path in libraries_of(file).items():
            shutil.copy(path, folder / "lib" / name)
    binaries = [file for part in ("bin", "lib", "plugins") for file in (folder / part).iterdir()]
    subprocess.run(["strip", "--strip-unneeded", *binaries], stderr=subprocess.DEVNULL, check=False)
    if images:
        (folder / "images").mkdir()
        for file in images.glob("train-*"):
            shutil.copy(file, folder / "images")
    (folder / "env").write_text(ENVIRONMENT)


def gather_python(folder):
    """Copies this interpreter to folder/python-base, and makes an environment of it in folder/python."""
    version = f"python{sysconfig.get_python_version()}"
    packages, stdlib = Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))
    base, ours = folder / "python-base", folder / "python/lib" / version / "site-packages"
    (base / "bin").mkdir(parents=True)
    needless = shutil.ignore_patterns("__pycache__", "test", "tests", "config-*", "idlelib", "tkinter", "lib2to3", "ensurepip", "*.pyi")
    shutil.copytree(stdlib, base / "lib" / version, ignore=needless)
    shutil.copy(Path(sys.executable).resolve(), base / "bin" / version)
    library = sysconfig.get_config_var("INSTSONAME")
    shutil.copy(Path(sysconfig.get_config_var("LIBDIR")) / library, base / "lib" / library)

    def of_torch(place, names):
        built = Path(place) == packages / "torch" and {"lib", "include", "bin", "share"}
        return {*needless(place, names), *(built or ())}

    for name in PACKAGES:
        shutil.copytree(packages / name, ours / name, ignore=of_torch)
    shutil.copy(packages / "typing_extensions.py", ours)
    (ours / "torch/lib").mkdir()
    for name in OF_TORCH:
        shutil.copy(packages / "torch/lib" / name, ours / "torch/lib")
    (folder / "python/bin").mkdir()
    (folder / "python/bin/python").symlink_to(Path("../../python-base/bin") / version)
    extensions = [*(base / "lib").rglob("*.so*"), *ours.glob("torch/lib/*")]
    for file in extensions:
        for name, path in libraries_of(file).items():
            shutil.copy(path, folder / "lib" / name)
    subprocess.run(["strip", "--strip-unneeded", *extensions], stderr=subprocess.DEVNULL, check=False)
    with open(folder / "env", "a", encoding="utf-8") as file:
        file.write(PYTHON_ENVIRONMENT % {"version": version})


def pack(folder, archive):
    with tarfile.open(archive, "w:xz", preset=9) as file:
        for entry in sorted(folder.iterdir()):
            file.add(entry, entry.name)


def find_all(folders):
    """Returns the built programs. @raise FileNotFoundError"""
    found = {}
    for folder in folders or [None]:
        found = {**find_programs(folder), **found}
    if "gangway" not in found:
        raise FileNotFoundError("no gangway among the programs: run ./launch/build first, or name their folder")
    missing = [name for name in PROGRAMS if name not in found]
    if missing:
        print(f"not built, and not packed: {', '.join(missing)}", file=sys.stderr)
    return [*found.values(), *(found["gangway"].with_name(name) for name in STARTED if name != "gangway")]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", type=Path, default=[], metavar="DIR",
                        help="where they are, if not in build/release")
    parser.add_argument("--images", type=Path, metavar="DIR", help="with train-images-idx3-ubyte.gz and train-labels-...")
    parser.add_argument("--python", action="store_true", help="this Python and what its PyTorch has of it")
    parser.add_argument("archive", type=Path)
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="gangway-pack-") as scratch:
            gather(Path(scratch), find_all(options.programs), options.images)
            if options.python:
                gather_python(Path(scratch))
            pack(Path(scratch), options.archive)
    except FileNotFoundError as error:
        parser.error(str(error))
    print(f"{options.archive}: {os.path.getsize(options.archive) / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
