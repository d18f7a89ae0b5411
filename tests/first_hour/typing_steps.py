# SPDX-License-Identifier: MIT
"""Typos in keys and commands. No job starts, so all of them are tried."""
from hour import Problem
from steps import step

QUICK = 15  # seconds; an answer to a typo must come at once


def refuse(hour, *words, says=(), **how):
    return hour.expect(hour.run(*words, deadline=QUICK, **how), 2, says=says)


def misspelt(random, word):
    """Swaps two letters, removes one, or doubles one."""
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
