# SPDX-License-Identifier: MIT
"""Clients that do not wait, as neither curl nor h2load behaves.

  odd_clients.py reset COUNT PORT PATH   asks and resets the connection, COUNT times
  odd_clients.py unread PORT BIG PATH... HTTP/2: asks for BIG, and while nothing is read, for the
                                         PATHs; then reads, and prints for each "ended" or "reset"
"""
import socket
import struct
import sys

TIMEOUT_SECONDS = 10
DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE = 0, 1, 3, 4, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
WINDOW_MAX = 2**31 - 1
WINDOW_FIRST = 65535  # RFC 9113 6.9.2
INITIAL_WINDOW_SIZE = 4


def reset(count, port, path):
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def request(stream, path):
    """GET, http, and the path and authority as literals (RFC 7541 6.2.2)."""
    fields = b"\x82\x86\x04" + bytes([len(path)]) + path.encode() + b"\x01\x01a"
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, fields)


def frames(client):
    source = client.makefile("rb")
    while head := source.read(9):
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        yield kind, flags, int.from_bytes(head[5:], "big"), source.read(size)


def ends(client, streams):
    """What became of each stream: its last frame, or a reset."""
    said = {}
    for kind, flags, stream, _ in frames(client):
        if kind == RST_STREAM:
            said[stream] = "reset"
        elif kind in (DATA, HEADERS) and flags & END_STREAM:
            said[stream] = "ended"
        if streams <= said.keys():
            break
    return said


def unread(port, big, paths):
    streams = range(3, 3 + 2 * len(paths), 2)
    settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, WINDOW_MAX)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(TIMEOUT_SECONDS)
    client.connect(("127.0.0.1", port))
    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
    client.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_MAX - WINDOW_FIRST)))
    client.sendall(request(1, big))
    for stream, path in zip(streams, paths):
        client.sendall(request(stream, path))
    said = ends(client, set(streams))
    print(" ".join(said.get(stream, "nothing") for stream in streams))


def main(verb, *words):
    if verb == "reset":
        reset(int(words[0]), int(words[1]), words[2])
    else:
        unread(int(words[0]), words[1], words[2:])


main(*sys.argv[1:])
