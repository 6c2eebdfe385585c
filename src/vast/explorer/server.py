"""The door of the explorer: pages and sockets on loopback, for who has the token only.

Refused are requests without the token, those whose Host is another name (a foreign page whose name
resolves to this machine), sockets that a foreign page opens (its Origin), and every path but those
of the page's own files.
"""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from vast.errors import UserError
from vast.explorer.conversation import Conversation
from vast.explorer.protocol import MAX_MESSAGE, Malformed
from vast.explorer.view import View

HOST = "127.0.0.1"
SOCKET = "/socket"
MAX_PORT = 65535
MAX_PAGES = 8
"""pages open at once, each with a copy of the table"""
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE = {
    path.name: path.read_bytes()
    for path in (files("vast.explorer") / "page").iterdir()
    if Path(path.name).suffix in TYPES
}
"""the files of the page by name, in memory: no request ever opens a file"""


@dataclass(frozen=True)
class Door:
    """An explorer that is being served."""

    port: int
    token: str

    @property
    def origin(self) -> str:
        """What the browser says a page of ours comes from."""
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"{self.origin}/?token={self.token}"


@contextmanager
def served(view: View, save_to: Path, port: int = 0) -> Iterator[tuple[Door, Server]]:
    """Yield an explorer of a view, listening on loopback; `serve_forever` answers requests.

    Port 0 takes any free one.
    """
    if not 0 <= port <= MAX_PORT:
        raise UserError(f"port must be between 0 and {MAX_PORT}, got {port}")
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise UserError(f"cannot listen on port {port}: {error.strerror}") from error
    door = Door(listening.getsockname()[1], secrets.token_urlsafe(24))
    networks = threading.Lock()
    room = threading.Semaphore(MAX_PAGES)

    def talk(connection: ServerConnection) -> None:
        if not room.acquire(blocking=False):
            connection.close(CloseCode.TRY_AGAIN_LATER, f"at most {MAX_PAGES} pages can be open")
            return
        try:
            Conversation(view, save_to, networks).run(connection)
        except Malformed as error:
            connection.close(CloseCode.POLICY_VIOLATION, str(error))
        except ConnectionClosed:
            pass
        finally:
            room.release()

    # The socket is bound first: the allowed origins must be known when serving begins.
    server = serve(
        talk,
        sock=listening,
        origins=[door.origin],  # type: ignore[list-item]
        process_request=lambda connection, request: _answer(connection, request, door),
        compression=None,
        max_size=MAX_MESSAGE,
        server_header=None,
    )
    try:
        yield door, server
    finally:
        server.shutdown()


def _answer(connection: ServerConnection, request: Request, door: Door) -> Response | None:
    """Return a file of the page, a refusal, or None to open a socket."""
    hosts = request.headers.get_all("Host")
    if hosts != [f"{HOST}:{door.port}"]:
        return _refusal(door, HTTPStatus.FORBIDDEN, "The Host must be the one that was printed.")
    url = urlsplit(request.path)
    if url.path in ("/", SOCKET):
        given = parse_qs(url.query).get("token", [""])[0]
        name = "index.html"
    else:
        # The files of the page are below the token, so that modules find each other.
        given, _, name = url.path.removeprefix("/").partition("/")
    if not secrets.compare_digest(given.encode(), door.token.encode()):
        return _refusal(door, HTTPStatus.FORBIDDEN, NO_TOKEN)
    if url.path == SOCKET:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return _refusal(door, HTTPStatus.BAD_REQUEST, "This is the address of a socket.")
        return None
    if name not in PAGE or (url.path != "/" and name == "index.html"):
        return _refusal(door, HTTPStatus.NOT_FOUND, "There is nothing here.")
    body = PAGE[name].replace(b"{token}", door.token.encode()) if url.path == "/" else PAGE[name]
    return _response(door, HTTPStatus.OK, TYPES[Path(name).suffix], body)


NO_TOKEN = (
    "The token is missing or wrong: open the address that `vast explore` printed. To open a view\n"
    "that a colleague sent you, append what follows the # in theirs to your own address."
)


def _refusal(door: Door, status: HTTPStatus, text: str) -> Response:
    return _response(door, status, "text/plain; charset=utf-8", f"{text}\n".encode())


def _response(door: Door, status: HTTPStatus, kind: str, body: bytes) -> Response:
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        f"connect-src ws://{HOST}:{door.port}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    headers = Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
