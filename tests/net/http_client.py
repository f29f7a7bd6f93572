# SPDX-License-Identifier: MIT
"""What curl does not do: requests as they should not be, and answers checked to the byte.

  http_client.py talk REQUEST...      one after the other on one connection
  http_client.py pipeline REQUEST...  all of them sent before the first answer is read
  http_client.py bad                  malformed and oversized ones, each on a connection of its own
  http_client.py together COUNT PATH  asks COUNT times at once; prints how many were answered by
                                      200, by 429 and not, and the seconds the last 200 took

A REQUEST is "METHOD PATH [length SIZE | chunked SIZE | expect SIZE] [NAME:VALUE]...". talk and
pipeline print one word an answer, its status and how long its body was, "429:120"; "closed" where
the server closed instead, and "desync" where what followed is no answer. With expect, what comes
before the body is printed too: "100". --port N, --before TEXT (sent first, with CRLF), --patience
SECONDS (together: who has no answer by then leaves)."""

import argparse
import random
import socket
import sys
import threading
import time

TIMEOUT_SECONDS = 10
BAD_SECONDS = 0.3  # a server that still waits then has not crashed


class Closed(Exception):
    pass


class Connection:
    def __init__(self, port, before=None):
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
        self.pending = b""
        if before:
            self.send(before.encode() + b"\r\n")

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # what the server said before it closed can still be read

    def more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed
        self.pending += data

    def line(self):
        while b"\r\n" not in self.pending:
            self.more()
        line, _, self.pending = self.pending.partition(b"\r\n")
        return line

    def exactly(self, size):
        while len(self.pending) < size:
            self.more()
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def answer(self, method):
        """One answer, as its word; whether the connection ends with it."""
        first = self.line()
        if not first.startswith(b"HTTP/1.1 "):
            return "desync", True
        status = first.split()[1].decode()
        fields = {}
        while line := self.line():
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip().lower()
        if status == "100":
            return status, False
        return f"{status}:{self.body(method, fields)}", fields.get(b"connection") == b"close"

    def body(self, method, fields):
        if method == "HEAD":
            return 0
        if fields.get(b"transfer-encoding") != b"chunked":
            return len(self.exactly(int(fields.get(b"content-length", 0))))
        total = 0
        while size := int(self.line(), 16):
            total += len(self.exactly(size + 2)) - 2
        self.line()
        return total


class Request:
    def __init__(self, text):
        method, path, *rest = text.split()
        self.method = method
        self.body = b""
        self.expects = False
        head = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        while rest:
            word = rest.pop(0)
            if word in ("length", "chunked", "expect"):
                head += self.take_body(word, int(rest.pop(0)))
            else:
                name, _, value = word.partition(":")
                head.append(f"{name}: {value}")
        self.head = ("\r\n".join(head) + "\r\n\r\n").encode()

    def take_body(self, kind, size):
        # It looks like a request, so that a server that takes it for one is found out.
        body = (b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n" * (size // 40 + 1))[:size]
        if kind == "chunked":
            self.body = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body)
            return ["Transfer-Encoding: chunked"]
        self.body = body
        self.expects = kind == "expect"
        return [f"Content-Length: {size}"] + ["Expect: 100-continue"] * self.expects


def talk(options):
    connection = Connection(options.port, options.before)
    words = []
    for text in options.arguments:
        request = Request(text)
        connection.send(request.head)
        sender = threading.Thread(target=connection.send, args=(request.body,))
        try:
            if not request.expects:
                sender.start()
            word, ends = connection.answer(request.method)
            words.append(word)
            if word == "100":
                sender.start()
                word, ends = connection.answer(request.method)
                words.append(word)
            elif request.expects and not ends:
                sender.start()  # refused, but the length that was announced still holds
        except Closed:
            words.append("closed")
            ends = True
        if ends:
            break
        if sender.ident:
            sender.join()
    return words


def pipeline(options):
    connection = Connection(options.port, options.before)
    requests = [Request(text) for text in options.arguments]
    sent = b"".join(request.head + request.body for request in requests)
    threading.Thread(target=connection.send, args=(sent,), daemon=True).start()
    words = []
    try:
        for request in requests:
            word, ends = connection.answer(request.method)
            words.append(word)
            if ends:
                break
    except Closed:
        words.append("closed")
    return words


def bad_requests():
    start = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n"
    for name in (b"X-Forwarded-For", b"Forwarded", b"Cookie", b"X-Api-Key", b"X-Odd", b"Origin"):
        for value in (
            b"",
            b"\xff\xfe\x80\xc0\xaf",
            b",",
            b'for="',
            b'for="[2001:db8::1',
            b'for="\\',
            b"1.2.3.4" + b"," * 2000,
            b"account=" + b"\xc3" * 3000,
            b"z" * 7000,
            b"z" * 30000,
            b"z" * 65536,
            b"1.2.3.4, " * 7000,
            b"for=1.2.3.4;by=" + b'"' * 5001,
        ):
            yield start + name + b": " + value + b"\r\n\r\n"
        yield start + (name + b": 9.9.9.9\r\n") * 90 + b"\r\n"
    yield b"GET /ok HTTP/1.0\r\n\r\n"
    yield b"GET /ok\r\n"
    yield b"GET /ok HTTP/1.1\r\n\r\n"
    yield b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"GET /ok?" + b"%00%ff" * 900 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 60
    rng = random.Random(1)
    for _ in range(60):
        damaged = bytearray(start + b"X-Forwarded-For: 10.0.0.1, 192.0.2.1\r\nX-Api-Key: k\r\n\r\n")
        for _ in range(rng.randrange(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        yield bytes(damaged)


def bad(options):
    """How many were sent; the server may answer or close as it likes."""
    count = 0
    for request in bad_requests():
        connection = Connection(options.port, options.before)
        connection.send(request)
        connection.socket.settimeout(BAD_SECONDS)
        try:
            # Half a request would be waited for.
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            while True:
                connection.more()
        except (Closed, OSError):
            pass
        count += 1
    return [str(count)]


def together(options):
    count, path = options.arguments
    connections = [Connection(options.port, options.before) for _ in range(int(count))]
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    answers = []
    begin = time.monotonic()
    for connection in connections:
        connection.send(request)

    def wait_for(connection):
        connection.socket.settimeout(options.patience)
        try:
            answers.append((connection.answer("GET")[0][:3], time.monotonic() - begin))
        except (Closed, TimeoutError):
            answers.append(("none", 0))
        connection.socket.close()

    threads = [threading.Thread(target=wait_for, args=(each,)) for each in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = [status for status, _ in answers]
    last = max((took for status, took in answers if status == "200"), default=0)
    return [str(statuses.count(word)) for word in ("200", "429", "none")] + [f"{last:.3f}"]


def main():
    verbs = {"talk": talk, "pipeline": pipeline, "bad": bad, "together": together}
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--before")
    parser.add_argument("--patience", type=float, default=TIMEOUT_SECONDS)
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    print(" ".join(verbs[options.verb](options)))


sys.exit(main())
