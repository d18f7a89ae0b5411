# SPDX-License-Identifier: MIT
"""Users' pictures, labels, sizes, and a job made from them."""
import pictures
from hour import Problem
from steps import step

SMALL = ["model.width=8", "model.latent=8", "training.batch=8", "training.kimg=0.024", "output.grid=2",
         "checkpoint.snapshot_steps=0"]  # 3 steps of an image model


def image_job(hour, *more, workers=1):
    hour.job("model: {family: dcgan, resolution: 32}\n", "pictures.yaml")
    return ["pictures.yaml", "-n", workers, *SMALL, *more]


def drawn_side(hour, low, high):
    return lambda: hour.random.randint(low, high)


def make_folder(hour, name="my pictures", count=None, side=None):
    folder = hour.folder / name
    if side is None:
        high = hour.random.choice([40, 90, 300])
        side = drawn_side(hour, hour.random.choice([1, 8, 40]), high)
    count = count or hour.random.randint(12, 40)
    paths = pictures.write_folder(hour.random, folder, count, side)
    hour.note(f"{count} pictures")
    return folder, paths


def train_on(hour, source, *more, run="pictures", workers=1, codes=(0,), says=()):
    job = image_job(hour, f"data.source=images:{source}", *more, workers=workers)
    return hour.expect(hour.run(*job, "--run", run), *codes, says=says)


@step
def a_folder_of_mixed_pictures(hour):
    folder, _ = make_folder(hour)
    resolution, channels = hour.random.choice([32, 64]), hour.random.choice([1, 3])
    mirror = hour.random.choice(["true", "false"])
    how = [f"model.resolution={resolution}", f"model.channels={channels}", f"data.mirror={mirror}"]
    hour.note(" ".join(how))
    train_on(hour, folder, *how)
    train_on(hour, folder, *how, run="two", workers=2)
    if hour.digest("pictures") != hour.digest("two"):
        raise Problem("two workers trained something else than one")


@step
def a_zip_of_pictures(hour):
    side = hour.random.choice([28, 48, 64])
    folder, _ = make_folder(hour, side=lambda: side)
    archive = hour.folder / "my pictures.zip"
    pictures.zip_folder(hour.random, folder, archive)
    train_on(hour, archive)
    archive.write_bytes(archive.read_bytes()[:-hour.random.randint(30, 200)])
    train_on(hour, archive, run="torn", codes=(2,), says="my pictures.zip")


@step
def a_broken_file_among_the_pictures(hour):
    folder, paths = make_folder(hour, side=lambda: 32)
    broken = hour.random.choice(paths)
    content = broken.read_bytes()
    how = hour.random.choice(["empty", "cut", "text", "noise"])
    hour.note(how)
    broken.write_bytes({"empty": b"", "cut": content[:len(content) // 2], "text": b"this is no picture\n",
                        "noise": content[:40] + hour.random.randbytes(len(content) - 40)}[how])
    ended = train_on(hour, folder, codes=(0, 2) if how == "noise" else (2,))  # noise behind a JPEG's header is a picture
    if ended.code == 2 and broken.stem[:20] not in ended.err:
        raise Problem(f"the broken file {broken} is not named: {ended.described()}")


@step
def folders_as_labels(hour):
    for name in ("cats", "dogs", "hares"):
        make_folder(hour, f"pets/{name}", count=8, side=lambda: 32)
    train_on(hour, hour.folder / "pets", "model.classes=3")
    train_on(hour, hour.folder / "pets", "model.classes=5", run="more", codes=(0, 2), says="label|class")


@step
def a_job_from_pictures(hour):
    for name in ("cats", "dogs"):
        pictures.write_folder(hour.random, hour.folder / "pets" / name, hour.random.randint(12, 60), drawn_side(hour, 24, 90))
    wanted = hour.random.choice([[], ["--resolution", 64], ["--minutes", 5], ["-n", 3]])
    hour.note(" ".join(map(str, wanted)))
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--no-trial", "-o", "pets.yaml", *wanted), 0)
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--no-trial", "-o", "pets.yaml"), 2, says="--force")
    hour.expect(hour.run("pets.yaml", "--dry-run", "-n", 2), 0)
    hour.expect(hour.run("pets.yaml", "-n", 2, *SMALL), 0)
    hour.expect(hour.call(hour.gangway, "init", "job", "nowhere", "-o", "other.yaml"), 2, says="nowhere")
    hour.expect(hour.call(hour.gangway, "init", "job", "pets", "--recipe", "r3gan", "-o", "other.yaml"), 2, says="r3gan-")
