"""A proxy before a server, which does to requests what networks do to them.

`PUT /faults` with a JSON array of names says what happens to the next requests, one each; `GET /faults` lists the
requests since then. What is not named there is passed on.
"""

import http.client
import http.server
import json
import socket
import struct
import threading
import urllib.parse


def refusal(status, error, wait):
    body = {"error": error, "message": "a made-up fault", "request_id": "01a1fbb9-c9eb-7811-aee3-4cdd483e1d17"}
    return status, {"Content-Type": "application/json", "Retry-After": wait}, json.dumps(body).encode()


# Answers of which the service knows nothing.
REFUSALS = {
    "409": refusal(409, "conflict", "1"),
    "429": refusal(429, "rate_limit_exceeded", "7"),
    "429 for an hour": refusal(429, "rate_limit_exceeded", "3600"),
    "503": refusal(503, "service_unavailable", "5"),
    "503 uncounted": refusal(503, "rate_limit_unavailable", "5"),
    "502": (502, {"Content-Type": "text/html", "Retry-After": "soon"}, b"<h1>Bad gateway</h1>"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/faults":
            if self.command == "PUT":
                self.server.faults, self.server.requests = json.loads(body), []
            return self.answer(200, {}, json.dumps(self.server.requests).encode())
        with self.server.lock:
            fault = self.server.faults.pop(0) if self.server.faults else None
            request = {"method": self.command, "path": self.path, "key": self.headers.get("Idempotency-Key")}
            self.server.requests.append(request)
        if fault in REFUSALS:
            return self.answer(*REFUSALS[fault])
        status, headers, answered = self.passed_on(body)
        if fault == "reset":
            # With data that lingers for no time, closing resets the connection.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return self.connection.close()
        if fault == "silence":
            return self.connection.recv(1)
        if fault == "garbage":
            return self.answer(200, {"Content-Type": "text/html"}, b"<h1>Sign in to this network</h1>")
        self.answer(status, headers, answered[: len(answered) // 2] if fault == "cut" else answered, len(answered))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def passed_on(self, body):
        connection = http.client.HTTPConnection(self.server.target, timeout=30)
        hop = ("host", "connection", "transfer-encoding", "content-length")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in hop}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        answered = response.read()
        connection.close()
        headers = {name: value for name, value in response.getheaders() if name.lower() not in hop}
        return response.status, headers, answered

    def answer(self, status, headers, body, length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Faults(http.server.ThreadingHTTPServer):
    """Running, until it is left as a context."""

    daemon_threads = True

    def __init__(self, url):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = urllib.parse.urlsplit(url).netloc
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.faults, self.requests, self.lock = [], [], threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
