# SPDX-License-Identifier: MIT
"""What is typed wrong: in a key, a value, a command, the job's YAML. Nothing is started, so all are tried."""
from hour import RING, Problem
from steps import step

QUICK = 15  # seconds; an answer to a typo waits for nothing


def refuse(hour, *words, says=(), **how):
    return hour.expect(hour.run(*words, deadline=QUICK, **how), 2, says=says)


def misspelt(random, word):
    """Two letters changed places, one gone, or one twice."""
    at = random.randrange(len(word) - 1)
    if word[at] == word[at + 1]:
        return word[:at] + word[at + 1:]
    return random.choice([word[:at] + word[at + 1] + word[at] + word[at + 2:], word[:at] + word[at + 1:],
                          word[:at] + word[at] + word[at:]])


@step
def typos_in_keys(hour):
    job = hour.job()
    for key in ("training.kimg", "training.batch", "model.width", "checkpoint.every_steps", "generator.ema_kimg"):
        section, name = key.split(".")
        wrong = misspelt(hour.random, name)
        refuse(hour, job, f"{section}.{wrong}=1", says=[wrong, f"did you mean '?.*{name}"])
    refuse(hour, job, "trainnig.batch=64", says="did you mean")
    refuse(hour, job, "batch=64", says="batch")
    refuse(hour, job, "training.batch", says="training.batch")
    refuse(hour, job, "training.batch =64", says="training.batch")
    refuse(hour, job, "=64")
    refuse(hour, job, "other.yaml", says="other.yaml")


@step
def typos_in_values(hour):
    job = hour.job()
    for word, says in (("training.batch=many", "many"), ("training.kimg=-1", "kimg"), ("training.kimg=", "kimg"),
                       ("training.batch=1e99", "batch"), ("training.batch=64.5", "64.5"), ("training.loss=hing", "hinge"),
                       ("generator.optimizer.adam.betas=0.5", "betas"), ("training.kimg=nan", "kimg"),
                       ("training.seed=99999999999999999999999", "seed"), ("data.mirror=yep", "mirror"),
                       ("generator.optimizer=sgd", "optimizer"), ("training.batch=63", "63"),
                       ("training.batch=0", "batch"), ("training.kimg=1,5", "kimg"), ("model.family=DCGAN", "dcgan"),
                       ("training.kimg=[1", "kimg|flow|\\[")):
        refuse(hour, job, word, says=says)


@step
def typos_in_commands(hour):
    job = hour.job()
    for words, says in ((["rnu", job], "did you mean 'run'"), (["digset", "x"], "digest"), ([], "help"), (["run"], "job"),
                        (["data", "check", "images:x"], "data"), (["run", job, "--worker", 2], "worker"),
                        (["run", job, "-n"], "-n|workers"), (["run", job, "-n", "two"], "two|workers"),
                        (["run", job, "-n", 0], "workers|POSITIVE|-n"), (["run", job, "-n", -1], "workers|POSITIVE|-n"),
                        (["run", job, "--run", "a/b"], "a/b"),
                        (["run", job, "--trace", "5"], "trace|5"), (["checkpoints"], "help|subcommand"),
                        (["checkpoints", "list", "x"], "help|list"), (["digest", "nothing"], "nothing"),
                        (["checkpoints", "ls", "nothing"], "nothing"), (["sample", "nothing", "-o", "x.png"], "nothing"),
                        (["snapshots", "rm", "nothing"], "nothing"), (["evaluate", "nothing"], "nothing"),
                        (["train", job], "mpirun"), (["Run", job], "Run")):
        ended = hour.expect(hour.call(hour.gangway, *words, deadline=2 * QUICK), 2, 6, says=says)
        if ended.code == 6 and words[0] != "train":
            raise Problem(f"no trouble of the machine: {ended.described()}")
    for words in (["--help"], ["--version"], ["run", "--help"], ["checkpoints", "--help"], ["sample", "--help"],
                  ["evaluate", "--help"], ["doctor", "--help"], ["snapshots", "ls"]):
        hour.expect(hour.call(hour.gangway, *words, deadline=2 * QUICK), 0)


@step
def typos_in_yaml(hour):
    texts = {"a tab": "training:\n\tkimg: 1\n", "no colon": RING.replace("training:", "training"),
             "an open bracket": RING.replace("microbatches: 4}", "microbatches: 4"), "twice": RING + "training: {seed: 1}\n",
             "a wrong indent": "training:\n  kimg: 1\n batch: 64\n", "a list": "- training\n- model\n",
             "a word": "hello\n", "noise": "\0\x01\x02", "an open quote": RING.replace('"toy:ring8"', '"toy:ring8'),
             "a key of another level": "kimg: 1\n" + RING, "JSON with a comma": '{"training": {"kimg": 1,}, }}',
             "equal signs": "training.kimg = 80\n", "an anchor": "model: &m {width: 8}\n", "two documents": RING + "---\n" + RING}
    for name, text in texts.items():
        job = hour.job(text, f"{name}.yaml")
        ended = hour.run(job, "--dry-run", deadline=QUICK)
        if ended.code != 2 or not ended.lines() or f"{name}.yaml" not in ended.err:
            raise Problem(f"{name}: the file is not named with exit code 2: {ended.described()}")


@step
def files_that_are_no_jobs(hour):
    refuse(hour, "nowhere.yaml", says="nowhere.yaml")
    refuse(hour, hour.folder, says=str(hour.folder))
    refuse(hour, "/dev/null/job.yaml", says="job.yaml")
    (hour.folder / "picture.yaml").write_bytes(hour.random.randbytes(5000))
    refuse(hour, "picture.yaml", says="picture.yaml")
    (hour.folder / "large.yaml").write_text("# nothing\n" * 200_000)
    refuse(hour, "large.yaml", says="large.yaml")
    hour.expect(hour.run(hour.job("", "empty.yaml"), "--dry-run", deadline=QUICK), 0)
    hour.expect(hour.run(hour.job("\ufeff" + RING.replace("\n", "\r\n"), "from windows.yaml"), "--dry-run", deadline=QUICK), 0)


@step
def more_workers_than_microbatches(hour):
    pieces = hour.random.randint(1, 3)
    refuse(hour, hour.job(), f"training.microbatches={pieces}", "training.batch=6", "-n", pieces + 1, says="microbatches")


@step
def a_dry_run(hour):
    ended = hour.expect(hour.run(hour.job(), "--dry-run", "-n", hour.random.randint(1, 4), deadline=QUICK), 0)
    if (hour.folder / "runs").exists():
        raise Problem(f"a dry run has made a folder: {ended.described()}")
