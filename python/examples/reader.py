# SPDX-License-Identifier: MIT
"""Reads examples of a user's Python data set (docs/python.md) in a process of its own. Started by
python/examples/reader_process.cpp, after python/read/sources.py and share/python/gangway/examples.py. Lines
of JSON on two pipes carry requests and answers; tensors lie in shared memory. Ends with input."""
import contextlib
import hashlib
import json
import mmap

ALIGNMENT = 64  # of a tensor's first byte, as LibTorch's own allocator has it


def bytes_of(tensor):
    torch = sys.modules.get("torch")
    if torch and isinstance(tensor, torch.Tensor):
        tensor = tensor.reshape(-1).view(torch.uint8).numpy()
    return memoryview(tensor.reshape(-1).view("uint8")) if tensor.size else memoryview(b"")


def random_states():
    torch, (_, words, place, *_) = sys.modules.get("torch"), numpy.random.get_state()
    return random.getstate(), words.tobytes(), place, torch and torch.get_rng_state().numpy().tobytes()


class Hashes:
    """Compares example hashes in a file that readers share. Raises Refused for changed ones."""
    SIZE, DRAWS = 8, b"\xff" * 8

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def compare(self, index, seed, example):
        before = os.pread(self.file, self.SIZE, self.SIZE * index)
        if before == self.DRAWS:
            return
        now = hashlib.blake2b(digest_size=self.SIZE)
        for name, tensor in sorted(example.items()):
            now.update(f"{name} {text_of(tensor)} ".encode())
            now.update(bytes_of(tensor))
        if before == now.digest():
            return
        reached = random_states()
        seed_all(seed)
        draws = random_states() != reached
        if before.strip(b"\0") and not draws:
            raise Refused(f"example {index} is not what it was when this run first read it, and draws nothing: put back what was there, "
                          "begin another run, or have fingerprint(self) tell that the data have changed")
        with contextlib.suppress(OSError):  # a full disk: it stays unknown
            os.pwrite(self.file, self.DRAWS if draws else now.digest(), self.SIZE * index)


class Reader:
    """Answers requests for examples of `data`. @param memory  descriptor of the shared memory"""

    def __init__(self, data, memory):
        self.data, self.memory, self.mapped, self.compare = data, memory, None, None

    def lay_down(self, batch):
        """Copies the tensors into the shared memory in sequence. Returns the place of each."""
        places, end = [], 0
        for name, tensor in batch.items():
            size = bytes_of(tensor).nbytes
            places.append({"name": name, "type": type_of(tensor), "shape": list(tensor.shape), "at": end, "bytes": size})
            end = -(-(end + size) // ALIGNMENT) * ALIGNMENT
        if self.mapped is None or len(self.mapped) < end:
            os.ftruncate(self.memory, end)
            self.mapped = mmap.mmap(self.memory, end)
        for place, tensor in zip(places, batch.values()):
            self.mapped[place["at"]:place["at"] + place["bytes"]] = bytes_of(tensor)
        return places

    def describe(self):
        """Returns the number of examples, the classes (0: not said), and the fingerprint."""
        size = len(self.data)
        if size < 1:
            raise Refused("has no example: __len__ is 0")
        classes = getattr(self.data, "classes", 0)
        told = self.data.fingerprint() if hasattr(self.data, "fingerprint") else ""
        return {"size": size, "classes": classes if isinstance(classes, int) else len(classes), "fingerprint": str(told),
                "collates": hasattr(self.data, "collate")}

    def answer(self, request):
        if "hashes" in request:
            self.compare = Hashes(request["hashes"]).compare
            return {}
        if "indices" not in request:
            return self.describe()
        return {"tensors": self.lay_down(batch_of(self.data, request["indices"], request["seeds"], self.compare))}


def tell(line):
    print(line, file=sys.stderr, flush=True)


def read_all(requests, answers, memory, parent):
    """Answers until requests end. `requests`, `answers`: byte streams; `memory`: a descriptor."""
    import ctypes
    import faulthandler
    import signal
    import types
    kill_with_parent = 1
    ctypes.CDLL(None).prctl(kill_with_parent, signal.SIGKILL)
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too: the worker decides
    faulthandler.register(signal.SIGUSR1)  # prints its stack, before the worker gives it up
    reader = None
    for line in requests:
        request = json.loads(line)
        try:
            if reader is None:
                files = {name: requests.read(size) for name, size in request["files"]}
                sys.modules["gangway"] = types.ModuleType("gangway")
                exec(compile(requests.read(request["step"]), "gangway/step.py", "exec"), sys.modules["gangway"].__dict__)
                sys.meta_path.insert(0, SOURCES)
                found = find_class(request["folder"], files, request["module"], request["class"], object)
                seed_all(request["seed"])
                reader = Reader(found(**json.loads(request["arguments"] or "{}")), memory)
            answer = reader.answer(request)
        except BaseException as error:  # whatever the user's code raises
            answer = {"error": complaint(type(error), error, error.__traceback__, tell)}
        answers.write((json.dumps(answer) + "\n").encode())
        answers.flush()
