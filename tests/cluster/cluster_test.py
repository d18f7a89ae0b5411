#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An emulated cluster: hosts are separate, links have the requested rate, and no process or mount survives it.

    cluster_test.py [unittest arguments]        exit code 77: this machine cannot emulate one
"""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from hosts import DEADLINE, FOLDER, RUN, inside, main, processes_within, run_cluster, start_cluster

MEGABYTES = 5  # of a transfer: 0.4 s at 100 Mbit/s
# `transfer.py receive` prints the Mbit/s of its received bytes.
TRANSFER = f'''
import socket, sys, time
if sys.argv[1] == "receive":
    server = socket.create_server(("", 5001))
    print("listens", flush=True)
    connection, _ = server.accept()
    received, begin = len(connection.recv(1 << 16)), time.monotonic()
    while block := connection.recv(1 << 20):
        received += len(block)
    print("Mbit/s", received * 8e-6 / (time.monotonic() - begin), flush=True)
else:
    socket.create_connection((sys.argv[2], 5001), timeout=2).sendall(bytes({MEGABYTES} * 10**6))
'''


def leave_no_trace(test):
    """Links and mounts of this machine are unchanged."""
    def links_and_mounts():
        links = {line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()}
        mounts = [line.split(" - ")[-1] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        return links, mounts
    before = links_and_mounts()
    test.addCleanup(lambda: test.assertEqual(links_and_mounts(), before))


class Hosts(unittest.TestCase):
    def run_inside(self, hosts, rate, script):
        result = run_cluster(hosts, rate, inside(script))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout.split("\n")[:-1]

    def test_have_names_addresses_slots_memory_and_ranks_of_their_own(self):
        lines = self.run_inside("2x2", "1gbit", '''
            hostname; on host2 hostname; on host2 getent hosts host1; cat "$GANGWAY_CLUSTER_HOSTFILE"
            touch /dev/shm/mine; stat -c %d /dev/shm; on host2 sh -c "stat -c %d /dev/shm; ls /dev/shm"
            mpirun --hostfile "$GANGWAY_CLUSTER_HOSTFILE" hostname''')
        self.assertEqual(lines[:2], ["host1", "host2"])
        self.assertRegex(lines[2], r"^10\.77\.0\.1\s+host1$")
        self.assertEqual(lines[3:5], ["host1 slots=2", "host2 slots=2"])
        self.assertNotEqual(lines[5], lines[6], "one device for both")
        self.assertFalse(Path("/dev/shm/mine").exists())
        self.assertEqual(sorted(lines[7:]), ["host1", "host1", "host2", "host2"])

    def test_run_the_command_in_its_folder_and_with_its_exit_code(self):
        result = run_cluster("1", "none", ["sh", "-c", "pwd; exit 7"], cwd=FOLDER)
        self.assertEqual((result.returncode, result.stdout), (7, f"{FOLDER}\n"))

    def test_die_with_all_their_processes_and_without_a_word(self):
        lines = self.run_inside("3", "none", '''
            on host2 sleep 1000 & on host3 sleep 2000 & server=$!
            until pgrep -f "^sleep 1000" && pgrep -f "^sleep 2000"; do :; done >/dev/null
            crash host2
            pgrep -f "^sleep 1000"; pgrep -cf "^sleep 2000"
            on host2 true || echo dead
            kill "$server"''')
        self.assertEqual(lines, ["1", "dead"])


class Links(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "transfer.py").write_text(TRANSFER)

    def run_inside(self, rate, script):
        result = run_cluster("2", rate, inside(script), cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    TRANSFER_TO = '''
        transfer_to() {  # RECEIVER SENDER
          on "$1" python3 transfer.py receive >speed &
          until grep -q listens speed 2>/dev/null; do :; done
          on "$2" python3 transfer.py send "$1"
          wait; awk '/Mbit/ { print $2 }' speed; rm speed
        }
        '''

    def test_are_limited_in_both_directions(self):
        out = self.run_inside("100mbit", self.TRANSFER_TO + "transfer_to host2 host1; transfer_to host1 host2")
        for speed in map(float, out.split()):
            self.assertLess(speed, 105)  # no lower limit, for busy machines
        self.assertEqual(len(out.split()), 2)

    def test_count_their_bytes_and_can_be_pulled_out_and_put_back(self):
        out = self.run_inside("none", self.TRANSFER_TO + '''transfer_to host2 host1; bytes host1; bytes host2
            connect() { python3 -c '
import socket
try: socket.create_connection(("host2", 9), timeout=0.3)
except ConnectionRefusedError: print("answers")
except OSError: print("silence")'; }
            connect; link host2 down; connect; link host2 up; connect''')
        _, first, second, *then = out.strip().split("\n")
        words = first.split()
        self.assertEqual((words[0], words[2]), ("sent", "received"))
        self.assertGreater(int(words[1]), MEGABYTES * 10**6)
        self.assertLess(int(words[1]), MEGABYTES * 1.1 * 10**6)
        self.assertLess(int(words[3]), MEGABYTES * 0.1 * 10**6)
        self.assertGreater(int(second.split()[3]), MEGABYTES * 10**6)
        self.assertEqual(then, ["answers", "silence", "answers"])


class Teardown(unittest.TestCase):
    """Finds the processes of an ended cluster by their process namespace."""

    SCRIPT = 'readlink /proc/self/ns/pid; on host2 sh -c "sleep 1000 & sleep 1000" & '

    def setUp(self):
        leave_no_trace(self)

    def assert_gone(self, namespace):
        self.assertRegex(namespace, r"^pid:\[\d+\]$")
        end = time.monotonic() + DEADLINE
        while processes_within(namespace) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(processes_within(namespace), [])

    def test_follows_the_command_however_it_ends(self):
        for ending, code in (("exit 3", 3), ("kill -KILL $$", 128 + signal.SIGKILL)):
            with self.subTest(ending):
                result = run_cluster("2", "1gbit", inside(self.SCRIPT + ending))
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(processes_within(result.stdout.strip()), [], "all have ended before the script does")

    def test_follows_a_signal_to_the_script(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number.name):
                process = start_cluster("2", "1gbit", inside(self.SCRIPT + "sleep 1000"))
                self.addCleanup(process.stdout.close)
                namespace = process.stdout.readline().strip()
                self.assertNotEqual(processes_within(namespace), [])
                process.send_signal(number)
                code = process.wait(timeout=DEADLINE)
                self.assertEqual(code, -number if number == signal.SIGKILL else 128 + number)
                self.assert_gone(namespace)

    def test_does_not_touch_another_cluster(self):
        first = start_cluster("2", "1gbit", inside("sleep 1000"))
        second = run_cluster("3", "1gbit", inside('mpirun --hostfile "$GANGWAY_CLUSTER_HOSTFILE" hostname'))
        self.assertEqual(sorted(second.stdout.split()), ["host1", "host2", "host3"], second.stderr)
        named = os.environ | {"GANGWAY_CLUSTER": str(first.pid)}
        outside = subprocess.run([FOLDER / "on", "host2", "hostname"], env=named, capture_output=True, text=True)
        self.assertEqual(outside.stdout, "host2\n", outside.stderr)
        first.terminate()
        first.communicate(timeout=DEADLINE)


class Refusals(unittest.TestCase):
    def test_wrong_arguments_are_named(self):
        for arguments, word in ((["0", "1gbit", "--", "true"], "HOSTS '0'"), (["2", "fast", "--", "true"], "RATE 'fast'"),
                                (["2", "1gbit", "true"], "HOSTS RATE -- COMMAND")):
            result = subprocess.run([RUN, *arguments], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2)
            self.assertIn(word, result.stderr)

    def test_a_machine_without_the_tools_says_so_in_one_line(self):
        python = os.path.dirname(shutil.which("python3"))
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(f"{python}/python3", f"{folder}/python3")
            result = subprocess.run(["/usr/bin/env", f"PATH={folder}", "python3", RUN, "2", "1gbit", "--", "true"],
                                    capture_output=True, text=True)
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertRegex(result.stderr, r"^cluster: ip, tc, .*\n$")


if __name__ == "__main__":
    main()
