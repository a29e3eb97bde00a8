"""Serve the built book on localhost, print its address, open a browser where there is one."""

import functools
import gzip
import http.server
import io
import os
import socket
import sys
import webbrowser
from http import HTTPStatus
from pathlib import Path

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
FIRST_PORT = 8000


# Text, which compresses well; pictures and fonts are compressed already.
COMPRESSED = (".html", ".css", ".js", ".json", ".svg", ".ipynb", ".txt")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files compressed, without a line of log for each, and without stale pages."""

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def send_head(self):  # type: ignore[no-untyped-def]
        """Compress text for browsers that say they can read it, as public hosts do."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() and self.path.endswith("/") else path
        asked = self.headers.get("Accept-Encoding", "")
        if "gzip" not in asked or path.suffix not in COMPRESSED or not path.is_file():
            return super().send_head()
        data = gzip.compress(self.content(path), compresslevel=6, mtime=0)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Vary", "Accept-Encoding")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return io.BytesIO(data)

    def content(self, path: Path) -> bytes:
        """Give what is served of a file of text."""
        return path.read_bytes()

    def end_headers(self) -> None:
        """Ask browsers to look again: the book may have been rebuilt."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def make_server(port: int = FIRST_PORT, attempts: int = 50) -> http.server.ThreadingHTTPServer:
    """Bind the first free port from ``port`` on.

    Raises
    ------
    OSError
        If none of ``attempts`` ports is free.
    """
    handler = functools.partial(Handler, directory=str(HTML))
    for candidate in range(port, port + attempts):
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    raise OSError(f"no free port from {port} to {port + attempts - 1} on {socket.gethostname()}")


def main() -> None:
    """Serve until interrupted."""
    if not (HTML / "index.html").is_file():
        raise SystemExit("there is no built book: run `make html`")
    server = make_server(int(os.environ.get("PORT", FIRST_PORT)))
    url = f"http://localhost:{server.server_address[1]}/"
    print(f"== the book is at {url} (Ctrl-C stops)", flush=True)
    if sys.stdout.isatty():
        webbrowser.open(url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
