# SPDX-License-Identifier: MIT
"""Clients that send a body as curl does not. Each logs in with a form at PATH.

  login_clients.py pieces PORT PATH BODY    half of it, then the rest and a GET /free at once
  login_clients.py stop PORT PATH BODY      half of it, and waits for what the server says
  login_clients.py leave PORT PATH BODY     half of it, and resets the connection; --count times
  login_clients.py bodiless PORT PATH       announces a body, and waits for an answer without it

Prints the status and the body of each answer that came before the server closed, a line each.
--address ADDRESS goes into X-Forwarded-For."""

import argparse
import re
import socket
import struct

TIMEOUT_SECONDS = 10
OTHERS = 8  # requests that are answered before the second half is sent: each worker has its turn


def connect(port):
    return socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)


def head(options, size):
    return (
        f"POST {options.path} HTTP/1.1\r\nHost: localhost\r\n"
        f"X-Forwarded-For: {options.address}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()


LAST = b"GET /free HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(client):
    """All of them, as lines of status and body."""
    text = b""
    try:
        while more := client.recv(65536):
            text += more
    except ConnectionResetError:
        pass
    for status, _, body in re.findall(rb"HTTP/1.1 (\d+)(.*?)\r\n\r\n([^<{\n]*)", text, re.S):
        yield (status + b" " + body).decode().strip()


def begin(options):
    client = connect(options.port)
    body = options.body.encode()
    half = len(body) // 2
    client.sendall(head(options, len(body)) + body[:half])
    for _ in range(OTHERS):
        with connect(options.port) as other:
            other.sendall(LAST)
            list(answers(other))
    return client, body[half:]


def pieces(options):
    client, rest = begin(options)
    client.sendall(rest + LAST)
    return answers(client)


def stop(options):
    client, _ = begin(options)
    return answers(client)


def leave(options):
    for _ in range(options.count):
        client = connect(options.port)
        body = options.body.encode()
        client.sendall(head(options, len(body)) + body[: len(body) // 2])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    return []


def bodiless(options):
    client = connect(options.port)
    client.sendall(head(options, 1000))
    client.settimeout(TIMEOUT_SECONDS / 5)
    try:
        text = client.recv(65536)
    except TimeoutError:
        return ["nothing"]
    return [text.split()[1].decode()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="192.0.2.1")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("verb", choices=("pieces", "stop", "leave", "bodiless"))
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("body", nargs="?")
    options = parser.parse_args()
    for line in globals()[options.verb](options):
        print(line)


main()
