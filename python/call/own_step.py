# SPDX-License-Identifier: MIT
"""Runs and checks what a user's step has beside its phases: `takes`, kept tensors, show(), score().
Follows python/call/support.py, whose names it uses. Compute thread only."""
import ctypes
import math
import re
import wave

MOST_RATE = 384_000
SECONDS_HEARD = 60  # the longest file, unless its first clip is longer


def require_free_names(found, networks):
    """Raises Refused if the step's class has an attribute of a network's name."""
    taken = next((network for network in networks if hasattr(found, network) or network in ("model", "kept")), None)
    if taken is not None:
        raise Refused(f"self.{taken} of {found.__name__} is something else, and the job has a network {taken}; give one another name")


def own_inputs(found, networks):
    takes = {}
    for network, examples in dict(found.takes).items():
        if network not in networks:
            raise Refused(f"takes has {network}; the job has {', '.join(networks)}")
        takes[network] = []
        for one in examples if isinstance(examples, (list, tuple)) else [examples]:
            if not isinstance(one, torch.Tensor) or one.dtype not in (torch.float32, torch.int64):
                raise Refused(f"takes of {network} has to be an example of each tensor, float32 or int64, as torch.zeros(80, 32)")
            takes[network].append((list(one.shape), one.dtype == torch.int64))
        if not takes[network]:
            raise Refused(f"takes of {network} is empty; leave it out where the network takes what its role says")
    return takes


def no_tensors():
    return sys.modules["gangway"].KeptTensors()


def copy_of(kept):
    copy = no_tensors()
    copy.update((name, tensor.detach().clone()) for name, tensor in kept.items())
    return copy


def first_other_tensor(kept, other):
    """Returns the first name whose tensors differ; "" if all are equal."""
    return next((name for name in [*kept, *other] if name not in kept or name not in other
                 or Values(kept[name]) != Values(other[name])), "")


def call_beside(step, method, batch, seed):
    seed_others(seed)
    vars(step)["kept"] = no_tensors()
    with beside(batch):
        return getattr(step, method)(batch)


def show_step(step, batch, seed):
    """Returns pictures, float32 [N, C, H, W] on the CPU, and the bytes of a WAV file or none."""
    made = call_beside(step, "show", batch, seed)
    if isinstance(made, sys.modules["gangway"].Audio):
        samples = finite("the samples of Audio", made.samples)
        clips = samples[:, 0] if samples.dim() == 3 and samples.shape[1] == 1 else samples
        if clips.dim() != 2 or clips.numel() == 0:
            raise Refused(f"show returns Audio of samples {list(samples.shape)}; they are [N, T] or [N, 1, T]")
        if not isinstance(made.rate, int) or not 1 <= made.rate <= MOST_RATE:
            raise Refused(f"show returns Audio of rate {made.rate!r}: it is a whole number of samples a second, 1 to {MOST_RATE}")
        return spectrograms(clips), wav_file(clips, made.rate)
    pictures = finite("pictures", made)
    if pictures.dim() != 4 or pictures.shape[1] not in (1, 3) or pictures.numel() == 0:
        raise Refused(f"show returns a tensor {list(pictures.shape)}; pictures are [N, C, H, W], of 1 or 3 channels")
    if pictures.abs().max() > 2:
        prints.tell(f"show returns values from {pictures.min():.3g} to {pictures.max():.3g}; pictures are in [-1, 1], and others are cut")
    return pictures.contiguous(), b""


def finite(what, tensor):
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        kind = str(tensor.dtype) if isinstance(tensor, torch.Tensor) else f"a {type(tensor).__name__}"
        raise Refused(f"show returns {kind} for {what}; it returns a tensor of floats [N, C, H, W], or gangway.Audio(samples, rate)")
    if not tensor.isfinite().all():
        raise Refused(f"show returns an inf or a nan in {what}")
    return tensor.detach().to("cpu", torch.float32)


def wav_file(clips, rate):
    """Returns a WAV file of the clips in sequence, as many as fit into SECONDS_HEARD."""
    heard = clips[:max(1, SECONDS_HEARD * rate // clips.shape[1])]
    values = (heard.clamp(-1, 1) * 32767).round().to(torch.int16).contiguous()
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(ctypes.string_at(values.data_ptr(), 2 * values.numel()))
    return content.getvalue()


def spectrograms(clips):
    """Returns [N, 1, 129, at most 256], low tones below; black is 80 dB below the loudest."""
    width = 256
    hop = max(width // 4, -(-clips.shape[1] // 255))
    power = torch.stft(clips, width, hop, window=torch.hann_window(width), pad_mode="constant",
                       return_complex=True).abs().square()
    decibels = 10 * torch.log10(power / power.amax().clamp(min=1e-10) + 1e-8)
    return (decibels / 40 + 1).clamp(-1, 1).flip(1).unsqueeze(1).contiguous()


def score_step(step, batch, seed):
    """Returns the scores as floats, by name."""
    made = call_beside(step, "score", batch, seed)
    if not isinstance(made, dict) or not made:
        raise Refused(f"score returns {'an empty dict' if made == {} else f'a {type(made).__name__}'}; it returns a dict of numbers")
    figures = {}
    for name, value in made.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]*", name, re.ASCII):
            raise Refused(f"score returns a figure of the name {name!r}; a name has letters, digits, '_', '-' and '.'")
        try:
            figures[name] = float(value)
        except (TypeError, ValueError, RuntimeError):
            raise Refused(f"score returns a {type(value).__name__} for {name}; it returns numbers") from None
        if not math.isfinite(figures[name]):
            raise Refused(f"score returns {figures[name]} for {name}")
    return figures
