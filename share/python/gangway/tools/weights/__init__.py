# SPDX-License-Identifier: MIT
"""`gangway import` begins a run with the networks that another program has trained (docs/coming-from.md)."""
import re
from pathlib import Path

from safetensors.torch import save

from gangway.errors import UNUSABLE, Failed
from gangway.tools.command_line import Parser, require_new_folder, say, typed
from gangway.tools.init.job import published
from gangway.tools.measured import written_whole
from gangway.tools.recorded import begun
from gangway.tools.weights import biggan, r3gan, stylegan2, translators
from gangway.tools.weights.files import sources_of
from gangway.tools.weights.source import Network, Source

FAMILIES = (stylegan2, r3gan, biggan, translators)
# {role in the file: network of the job}; CycleGAN's D_A judges what G_A makes.
NAMES = {"G": "generator", "D": "discriminator", "G_A": "generator_ab", "G_B": "generator_ba", "D_A": "discriminator_b", "D_B": "discriminator_a"}
# Keys that a published job needs after an import. Without them an average would follow the weights at once.
GOES_ON = {"stylegan2": {"generator.ema_rampup": "none", "training.augment.kimg": 100}, "biggan": {"generator.ema_start_kimg": 0},
           "r3gan": {"training.burn_in_kimg": 0.001}}
SOURCES = {"cyclegan-maps": "unpaired", "pix2pix-facades": "pairs"}


def _recognised(source: Source) -> tuple[str, Network]:
    """Returns the network, and its role: of its file, else by its tensors."""
    found = next(filter(None, (family.recognised(source) for family in FAMILIES)), None)
    if not found:
        source.refuse("is none of StyleGAN2, R3GAN, BigGAN, CycleGAN and pix2pix, by the names of its tensors")
    if source.role[:1] not in ("", found.part):
        source.refuse(f"has the tensors of a {NAMES[found.part]}")
    if found.keys["model.family"] == "unet" and source.role[-2:] in ("_A", "_B"):
        source.refuse("is a U-Net of CycleGAN; only pix2pix's is known")
    return source.role or found.part, found


def converted(sources: list[Source]) -> tuple[str, dict, dict, list[str]]:
    """Returns the published job, its keys, {name in a checkpoint: tensor}, and notes."""
    states = {source.role: source for source in sources if source.role.endswith("_optim")}
    networks: dict[str, Network] = {}
    keys: dict = {}
    for role, network in (_recognised(source) for source in sources if source.role not in states):
        if networks.setdefault(role, network) is not network:
            network.source.refuse("is there twice; name each network once")
        for key, value in network.keys.items():
            if keys.setdefault(key, value) != value:
                network.source.refuse(f"has {key} {value}, and the other networks {keys[key]}: are they of one training?")
    first = next((network for network in networks.values() if network.part == "G"), None)
    if not first:
        raise Failed(f"{sources[0].file}: has no generator", UNUSABLE)
    tensors = {}
    for role, network in networks.items():
        base = role.removesuffix("_ema")
        name = NAMES[f"{base}_A" if first.recipe == "cyclegan-maps" and base in ("G", "D") else base]
        sections = [f"{name}_ema"] * (role != base) + [name] * (role == base or base not in networks)
        tensors |= {f"{section}/{ours}": values for ours, values in network.source.mapped(network.entries).items() for section in sections}
        if role == base and (state := states.get(f"{base}_optim")):
            tensors |= {f"{name}_optimizer/{ours}": values for ours, values in network.source.moments(network.entries, state.tensors).items()}
    return first.recipe, keys, tensors, list(dict.fromkeys(note for network in networks.values() for note in network.notes))


def command(words: list[str]) -> None:
    parser = Parser("import", "Begin a run with networks that StyleGAN2, R3GAN, BigGAN-PyTorch, CycleGAN or pix2pix has trained",
                    "Examples:\n  gangway import ffhq.pkl -o runs/ffhq\n"
                    "  gangway import G_ema.pth G.pth D.pth -o runs/biggan\n"
                    "  gangway import latest_net_G_A.pth latest_net_G_B.pth -o runs/maps data.source=unpaired:maps\n"
                    "Then: gangway sample runs/ffhq (docs/coming-from.md)")
    parser.add_argument("words", metavar="FILE", nargs="+", help=".pkl, .pt, .pth or .safetensors, and keys of the job (key=value)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="run directory to make")
    line = parser.parse_intermixed_args(words)
    own = [word for word in line.words if re.match(r"~?[a-z_0-9.]+=", word)]
    files = [Path(word) for word in line.words if word not in own]
    require_new_folder(line.output)
    if not files:
        parser.error("the following arguments are required: FILE")
    sources = [source for file in files for source in sources_of(file)]
    try:
        recipe, keys, tensors, notes = converted(sources)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Failed(f"{', '.join(map(str, files))}: is another kind of network, or lacks a part: {type(error).__name__}: "
                     f"{next(iter(str(error).splitlines()), '')}", UNUSABLE) from None
    keys |= GOES_ON.get(keys["model.family"], {})
    with written_whole(line.output, ".gangway-import-") as scratch:
        (scratch / "weights.safetensors").write_bytes(save({name: values.clone() for name, values in tensors.items()}))
        begun(published(recipe), scratch / "weights.safetensors", scratch / "new",
              [*(f"{key}={str(value).lower()}" for key, value in keys.items()), *own], " ".join(map(str, files)))
    sections = sorted({name.partition("/")[0] for name in tensors})
    say(f"{line.output}: {keys['model.family']}, {', '.join(sections)}; trains like examples/published/{recipe}.yaml")
    for note in notes:
        say(f"note   {note}")
    say(f"next   {typed('sample', str(line.output))}; to train on: {typed('run', f'{line.output}/job.yaml', '--resume', str(line.output))} "
        f"--run NAME data.source={SOURCES.get(recipe, 'images')}:FOLDER")
