#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A small application behind nginx, for the demo and the tests.

backend.py [--listen HOST:PORT | unix:/PATH]   (127.0.0.1:0 unless set: any free port)

Prints "listening ADDR" once it takes connections. Answers every request over HTTP/1.1 with JSON:
method, target, headers (lower case; a list of values each), body (its bytes). The query can ask for
more: status=500, header=Name:Value (any number of them), bytes=N (that many instead of the JSON),
sleep=SECONDS (before the answer).
"""
import argparse
import asyncio
import json
import signal
import urllib.parse

BODYLESS = {204, 304}


async def read_head(reader):
    """(method, target, headers), or None where the connection ended."""
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers.setdefault(name.strip().lower(), []).append(value.strip())
    return method, target, headers


async def read_chunks(reader):
    size = 0
    while length := int((await reader.readline()).split(b";")[0], 16):
        await reader.readexactly(length + 2)
        size += length
    while (await reader.readline()).strip():
        pass
    return size


async def read_body(reader, headers):
    """How many bytes it had."""
    if "transfer-encoding" in headers:
        return await read_chunks(reader)
    size = int(headers.get("content-length", ["0"])[0])
    left = size
    while left:
        left -= len(await reader.readexactly(min(left, 65536)))
    return size


def answer(method, wishes, body):
    status = int(wishes.get("status", ["200"])[0])
    fields = [wish.partition(":")[::2] for wish in wishes.get("header", [])]
    names = {name.lower() for name, _ in fields}
    if "content-type" not in names:
        fields.append(("Content-Type", "application/json"))
    if status not in BODYLESS:
        fields.append(("Content-Length", str(len(body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    text = f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode("latin-1")
    return text if method == "HEAD" or status in BODYLESS else text + body


async def serve(reader, writer):
    try:
        while head := await read_head(reader):
            method, target, headers = head
            size = await read_body(reader, headers)
            wishes = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
            said = {"method": method, "target": target, "headers": headers, "body": size}
            body = json.dumps(said).encode() + b"\n"
            if "bytes" in wishes:
                body = b"x" * int(wishes["bytes"][0])
            if "sleep" in wishes:
                await asyncio.sleep(float(wishes["sleep"][0]))
            writer.write(answer(method, wishes, body))
            await writer.drain()
            if headers.get("connection", [""])[0].lower() == "close":
                break
    except (ConnectionError, asyncio.IncompleteReadError, ValueError):
        pass
    finally:
        writer.close()


async def listen(address):
    """The server, and its address in words."""
    if address.startswith("unix:"):
        return await asyncio.start_unix_server(serve, address[5:]), address
    host, _, port = address.rpartition(":")
    server = await asyncio.start_server(serve, host.strip("[]"), int(port))
    return server, f"{host}:{server.sockets[0].getsockname()[1]}"


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1:0")
    server, address = await listen(parser.parse_args().listen)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    print("listening", address, flush=True)
    await ended.wait()
    server.close()


asyncio.run(main())
