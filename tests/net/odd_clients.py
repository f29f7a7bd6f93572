# SPDX-License-Identifier: MIT
"""Clients that do not wait, as neither curl nor h2load behaves.

  odd_clients.py reset COUNT PORT PATH   asks and resets the connection, COUNT times
  odd_clients.py unread PORT BIG PATH... HTTP/2: asks for BIG, and while nothing is read, for the
                                         PATHs; then reads, and prints for each "ended" or "reset"
  odd_clients.py forms PORT HOW PATH NAME
                                         on one connection sends FORMS forms of that username, and
                                         prints the statuses. HOW: pipelined; late: the last bytes
                                         only once the rest was read; chunked; left: each cut short
                                         by an end or a reset, on a connection of its own
"""
import re
import socket
import struct
import sys
import time

TIMEOUT_SECONDS = 10
FORMS = 5
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


def form(path, name, chunked=False):
    body = f"username={name}"
    length = f"Content-Length: {len(body)}"
    if chunked:
        length = "Transfer-Encoding: chunked"
        body = "".join(f"1\r\n{byte}\r\n" for byte in body) + "0\r\n\r\n"
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n{length}\r\n\r\n{body}").encode()


def is_read(client):
    """Waits until the server has read all that was sent."""
    port, peer = client.getsockname()[1], client.getpeername()[1]
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with open("/proc/net/tcp", encoding="ascii") as table:
            for line in table:
                _, local, remote, _, queues, *_ = line.split()
                if local.endswith(f":{peer:04X}") and remote.endswith(f":{port:04X}"):
                    if queues.endswith(":00000000"):
                        return
    raise TimeoutError


def statuses(client, count):
    """Of that many responses with a Content-Length."""
    source = client.makefile("rb")
    for _ in range(count):
        status = source.readline().split()[1:2]
        if not status:
            return
        yield status[0].decode()
        size = 0
        while (line := source.readline().strip()):
            if found := re.match(rb"content-length: *(\d+)$", line, re.IGNORECASE):
                size = int(found[1])
        source.read(size)


def leave(port, path, name):
    for cut in range(1, FORMS + 1):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(form(path, name)[:-cut])
            is_read(client)
            if cut % 2:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def forms(port, how, path, name):
    if how == "left":
        leave(port, path, name)
        return
    text = form(path, name, how == "chunked")
    said = []
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(TIMEOUT_SECONDS)
        if how == "late":
            for _ in range(FORMS):
                client.sendall(text[:-3])
                is_read(client)
                client.sendall(text[-3:])
                said += statuses(client, 1)
        else:
            client.sendall(text * FORMS)
            said += statuses(client, FORMS)
    print(" ".join(said))


def main(verb, *words):
    if verb == "reset":
        reset(int(words[0]), int(words[1]), words[2])
    elif verb == "forms":
        forms(int(words[0]), *words[1:])
    else:
        unread(int(words[0]), words[1], words[2:])


main(*sys.argv[1:])
