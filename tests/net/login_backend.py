# SPDX-License-Identifier: MIT
"""A backend that says which body it was sent, and with the status it is asked for.

  login_backend.py PORT

Any method and path. Of the query: status=CODE (200), hold=NAME: the answer waits until /release
?hold=NAME was asked; /waiting says how many wait. The body of an answer is "SIZE SHA256"."""

import hashlib
import http.server
import sys
import threading
import urllib.parse

releases = {}
waiting = 0
lock = threading.Lock()


def release_of(name):
    with lock:
        return releases.setdefault(name, threading.Event())


def wait_for(name):
    global waiting
    with lock:
        waiting += 1
    release_of(name).wait()
    with lock:
        waiting -= 1


class Backend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self):
        where = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(where.query)
        body = self.body()
        hold = query.get("hold", [""])[0]
        text = f"{len(body)} {hashlib.sha256(body).hexdigest()}\n"
        if where.path == "/release":
            release_of(hold).set()
        elif where.path == "/waiting":
            text = f"{waiting}\n"
        elif hold:
            wait_for(hold)
        try:
            self.tell(int(query.get("status", ["200"])[0]), text)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # who asked has left

    def tell(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512


Server(("127.0.0.1", int(sys.argv[1])), Backend).serve_forever()
