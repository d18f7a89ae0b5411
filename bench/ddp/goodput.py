# SPDX-License-Identifier: MIT
"""Measures a link: both ends of a TCP connection send at once, and each counts received bytes.

    goodput.py ADDRESS PORT         the end on the other host; prints bytes a second
"""
import socket
import sys
import threading
import time

SECONDS = 1.0
BEGIN_SECONDS = 0.3  # not counted: TCP's slow start, and the rate limiter's initial burst
CHUNK_BYTES = 1 << 18


def exchange(connection):
    """Returns the bytes a second received while this end sends as fast as it can."""
    connection.settimeout(10)
    sender = threading.Thread(target=send, args=(connection,))
    sender.start()
    rate = receive(connection)
    sender.join()
    connection.close()
    return rate


def send(connection):
    chunk, end = bytes(CHUNK_BYTES), time.monotonic() + SECONDS
    while time.monotonic() < end:
        connection.sendall(chunk)
    connection.shutdown(socket.SHUT_WR)


def receive(connection):
    buffer = bytearray(CHUNK_BYTES)
    begin = time.monotonic() + BEGIN_SECONDS
    counted_from, counted_to, num_bytes = None, None, 0
    while count := connection.recv_into(buffer):
        now = time.monotonic()
        if counted_from is not None:
            num_bytes, counted_to = num_bytes + count, now
        elif now >= begin:
            counted_from = now
    return num_bytes / (counted_to - counted_from)


if __name__ == "__main__":
    print(exchange(socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)))
