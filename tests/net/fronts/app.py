# SPDX-License-Identifier: MIT
"""An application that asks weir by itself: python3 app.py. Its limit is an account's. While weir
is down or slow a request passes ("allowed": False would refuse it); a question that weir refuses
is a fault of ours, and answered 500."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

UNASKED = {"allowed": True, "fields": {}}


def ask(zone, key):
    question = json.dumps({"zones": [zone], "key": key}).encode()
    try:
        with urlopen("http://127.0.0.1:8090/app", question, timeout=0.25) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code < 500:
            raise ValueError(f"weir answers {error.code}: {error.read().decode()}") from error
        return UNASKED
    except OSError:
        return UNASKED


class Application(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            decision = ask("account", self.headers.get("X-Account") or "nobody")
        except ValueError as error:
            self.log_error("%s", error)
            self.send_error(500)
            return
        self.send_response(200 if decision["allowed"] else 429)
        for name, value in decision["fields"].items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"hello\n" if decision["allowed"] else b"too many requests\n")


ThreadingHTTPServer(("127.0.0.1", 8083), Application).serve_forever()
