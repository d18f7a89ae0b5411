# SPDX-License-Identifier: MIT
"""Computes XXH3-128 and XXH3-64 by the PyPI package xxhash, or else by libxxhash.so.0, which Gangway's programs load."""
import ctypes
import functools

from gangway.errors import ENVIRONMENT, Failed


class _Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


@functools.cache
def _library():
    try:
        library = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        raise Failed("hashes are XXH3-128: pip install xxhash, or apt-get install libxxhash0", ENVIRONMENT) from None
    library.XXH3_createState.restype = ctypes.c_void_p
    library.XXH3_freeState.argtypes = [ctypes.c_void_p]
    library.XXH3_128bits_reset.argtypes = [ctypes.c_void_p]
    library.XXH3_128bits_update.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    library.XXH3_128bits_digest.argtypes = [ctypes.c_void_p]
    library.XXH3_128bits_digest.restype = _Hash
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.XXH3_64bits.restype = ctypes.c_uint64
    return library


class _Hasher:
    """Hashes as xxhash.xxh3_128() does, by libxxhash.so.0."""

    def __init__(self):
        self._library = _library()
        self._state = self._library.XXH3_createState()
        self._library.XXH3_128bits_reset(self._state)

    def __del__(self):
        if hasattr(self, "_state"):
            self._library.XXH3_freeState(self._state)

    def update(self, content) -> None:
        content = bytes(content)
        self._library.XXH3_128bits_update(self._state, content, len(content))

    def hexdigest(self) -> str:
        found = self._library.XXH3_128bits_digest(self._state)
        return f"{found.high:016x}{found.low:016x}"


def hasher():
    try:
        import xxhash
    except ImportError:
        return _Hasher()
    return xxhash.xxh3_128()


def hash_of(content) -> str:
    state = hasher()
    state.update(content)
    return state.hexdigest()


def short_hash_of(content: bytes) -> int:
    try:
        import xxhash
    except ImportError:
        return _library().XXH3_64bits(content, len(content))
    return xxhash.xxh3_64_intdigest(content)
