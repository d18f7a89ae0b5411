# SPDX-License-Identifier: MIT
"""Draws random numbers from a key by Philox4x32-10 (Salmon et al., SC'11), as gan/random.hpp. A number depends on (seed, step, phase,
repeat, pass, micro-batch, block, draw) and its index alone: every worker draws the same for a micro-batch."""
import numpy as np

# Values of a key's `phase` outside of training.
INITIALISATION, DATA = -1, -2
# Values of a key's `draw`: the purpose of the number.
NOISE, LABEL, MIX, DROPOUT, MIRROR, WEIGHT, PERMUTATION, TOY, LABEL_FLIP, EXAMPLE = 0, 1, 2, 3, 4, 5, 6, 7, 30, 70
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio


def _u64(value) -> np.ndarray:
    """Returns a uint64 array (two's complement): NumPy would warn of scalars that wrap."""
    if isinstance(value, np.ndarray):
        return np.atleast_1d(value).astype(np.uint64)
    return np.array([value & 0xFFFFFFFFFFFFFFFF], np.uint64)


def split_mix(value) -> np.ndarray:
    """Returns the number after `value` of SplitMix64 (Steele et al., OOPSLA 2014)."""
    x = _u64(value) + _u64(GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * _u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * _u64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _philox(key: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Runs ten rounds: three arrays [n] of 64 bits → [n, 4] words of 32 bits."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    k0, k1 = key & mask, key >> half
    x = [low & mask, low >> half, high & mask, high >> half]
    for _ in range(10):
        p0, p1 = _u64(0xD2511F53) * x[0], _u64(0xCD9E8D57) * x[2]
        x = [(p1 >> half) ^ x[1] ^ k0, p1 & mask, (p0 >> half) ^ x[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + _u64(0x9E3779B9)) & mask, (k1 + _u64(0xBB67AE85)) & mask
    return np.stack(np.broadcast_arrays(*x), axis=-1)


class Keyed:
    """Draws the numbers of one key, or of a key for each element if `step` is an array."""

    def __init__(self, seed, step=0, phase=0, repeat=0, pass_=0, microbatch=0, block=0, draw=0):
        def pair(a, b):
            return _u64((a & 0xFFFFFFFF) << 32 | b & 0xFFFFFFFF)

        key = split_mix(seed)
        for part in (_u64(step), pair(phase, repeat), pair(pass_, microbatch), pair(block, draw)):
            key = split_mix(key ^ part)
        self._key = key
        self._high = split_mix(key ^ _u64(0x6A09E667F3BCC908))

    def bits(self, index) -> np.ndarray:
        """Returns 32 bits at each index."""
        index = _u64(index)
        blocks = _philox(self._key, index >> np.uint64(2), self._high)
        return np.take_along_axis(blocks, (index & np.uint64(3))[:, None].astype(np.int64), 1)[:, 0]

    def _first(self, count: int) -> np.ndarray:
        return _philox(self._key, np.arange((count + 3) // 4, dtype=np.uint64), self._high)

    def uniform(self, count: int) -> np.ndarray:
        """Returns float32 in [0, 1), of 24 bits each."""
        return (self._first(count).reshape(-1)[:count] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)

    def below(self, index, bound: int) -> np.ndarray:
        """Returns whole numbers in [0, bound)."""
        return (self.bits(index) * _u64(bound)) >> np.uint64(32)

    def normal(self, count: int) -> np.ndarray:
        """Returns standard normals (Box and Muller, 1958), two from each pair of words."""
        return normals_of(self._first(count)).reshape(-1)[:count]

    def normals_of_block(self, block: int) -> np.ndarray:
        """Returns normals [keys, 4] from one block of four words."""
        return normals_of(_philox(self._key, _u64(block), self._high))


def normals_of(words: np.ndarray) -> np.ndarray:
    """Maps [n, 4] words to [n, 4] normals, in doubles, by + - * / and roots: logarithms and sines of libraries differ in last bits."""
    words = words.astype(np.float64)
    normals = np.empty(words.shape, np.float32)
    for first in (0, 2):
        radius = np.sqrt(-2.0 * _log_of_unit((words[:, first] + 1.0) * 2.0**-32))
        sine, cosine = sincos_of_turn(words[:, first + 1] * 2.0**-32)
        normals[:, first], normals[:, first + 1] = radius * cosine, radius * sine
    return normals


def _log_of_unit(x: np.ndarray) -> np.ndarray:
    """Returns the logarithm of x in (0, 1]: 2 atanh's series of the mantissa, plus the exponent."""
    x, exponent = np.frexp(x)  # in [0.5, 1)
    is_low = x < 0.70710678118654752440
    x, exponent = np.where(is_low, x * 2.0, x), exponent - is_low
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    total = np.full_like(z, 1.0 / 21.0)
    for k in range(19, 0, -2):
        total = total * z + 1.0 / k
    return 2.0 * s * total + exponent * 0.69314718055994530942


def sincos_of_turn(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns sine and cosine of 2 pi t, t in [0, 1), by Taylor's series on an eighth of a turn."""
    quarter = (t * 4.0 + 0.5).astype(np.int64)
    r = (t - quarter * 0.25) * 6.28318530717958647693
    z = r * r
    s, c = np.ones_like(z), np.ones_like(z)
    for k in range(8, 0, -1):
        s = 1.0 - s * z / (2 * k * (2 * k + 1))
        c = 1.0 - c * z / ((2 * k - 1) * 2 * k)
    s = s * r
    place = [quarter % 4 == k for k in range(4)]
    return np.select(place, [s, c, -s, -c]), np.select(place, [c, -s, -c, s])


def shaped(numbers: np.ndarray, shape):
    """Returns the numbers as a torch tensor of `shape`."""
    import torch
    return torch.from_numpy(np.ascontiguousarray(numbers)).reshape(shape)
