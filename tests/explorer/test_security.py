"""Nobody but the owner of the token, in a page of ours, on this machine, gets an answer."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from vast.explorer.protocol import EDITS, MAX_MESSAGE, REQUESTS
from vast.explorer.server import MAX_PAGES, PAGE, SOCKET, Door


def get(door: Door, path: str, host: str | None = None, **headers: str) -> http.client.HTTPResponse:
    """Ask for a path; `host` replaces the Host header."""
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
    connection.putrequest("GET", path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


@contextmanager
def page_of(door: Door, token: str | None = None, **options: Any) -> Iterator[ClientConnection]:
    """Open a socket as a page does."""
    url = f"ws://127.0.0.1:{door.port}{SOCKET}?token={door.token if token is None else token}"
    options = {"origin": door.origin, "max_size": None, "proxy": None, **options}
    with connect(url, **options) as connection:
        yield connection


def asked(connection: ClientConnection, **message: Any) -> dict[str, Any]:
    """Return the header of the answer to a request."""
    connection.send(json.dumps({"id": 1, **message}))
    answer = connection.recv(timeout=10)
    if isinstance(answer, str):
        found: dict[str, Any] = json.loads(answer)
        return found
    length = int.from_bytes(answer[:4], "little")
    header: dict[str, Any] = json.loads(answer[4 : 4 + length])
    return header


# --- who may connect ------------------------------------------------------------------------------


def test_it_listens_on_loopback_only(door: Door) -> None:
    hosts = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), door.port)}
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; tells which address we would send from
        hosts.add(probe.getsockname()[0])
    assert get(door, f"/?token={door.token}").status == 200
    for host in hosts:
        if not str(host).startswith("127.") and ":" not in str(host):
            with pytest.raises(OSError):  # noqa: PT011 (refused or unreachable)
                socket.create_connection((str(host), door.port), timeout=2)


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=wrong", "/socket", "/main.js", "/x/main.js"]
)
def test_without_the_token_nothing_is_served(door: Door, path: str) -> None:
    response = get(door, path)
    assert response.status == 403
    assert door.token.encode() not in response.body  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "127.0.0.1", "evil.example:{port}", ""]
)
def test_a_foreign_host_is_refused(door: Door, host: str) -> None:
    response = get(door, f"/?token={door.token}", host.format(port=door.port))
    assert response.status == 403


def test_two_hosts_are_refused(door: Door) -> None:
    response = get(door, f"/?token={door.token}", None, Host="evil.example")
    assert response.status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:{port}", "null", None])
def test_a_foreign_origin_is_refused(door: Door, origin: str | None) -> None:
    given = origin.format(port=door.port) if origin else None
    with pytest.raises(InvalidStatus) as refused, page_of(door, origin=given):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_socket_without_the_token_is_refused(door: Door, token: str) -> None:
    with pytest.raises(InvalidStatus) as refused, page_of(door, token):
        pass
    assert refused.value.response.status_code == 403


def test_every_address_has_another_token(door: Door) -> None:
    assert len(door.token) >= 32
    assert Door(1, "a").address == "http://127.0.0.1:1/?token=a"
    assert door.address == f"http://127.0.0.1:{door.port}/?token={door.token}"


# --- what is served -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/{token}/../server.py",
        "/{token}/%2e%2e/server.py",
        "/{token}//etc/passwd",
        "/{token}/page/main.js",
        "/{token}/index.html",
        "/{token}/",
        "/{token}/main.js/",
        "/{token}/__init__.py",
    ],
)
def test_no_path_leads_anywhere_but_to_the_files_of_the_page(door: Door, path: str) -> None:
    assert get(door, path.format(token=door.token)).status == 404


def test_every_file_of_the_page_is_served_below_the_token_with_its_type(door: Door) -> None:
    for name in set(PAGE) - {"index.html"}:
        response = get(door, f"/{door.token}/{name}")
        assert response.status == 200
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.body == PAGE[name]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/?token={token}", "/{token}/main.js", "/"])
def test_the_policy_forbids_everything_that_the_page_does_not_need(door: Door, path: str) -> None:
    policy = get(door, path.format(token=door.token)).headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' blob:",
        "connect-src": f"ws://127.0.0.1:{door.port}",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


def test_the_page_names_no_other_address_and_holds_no_inline_code() -> None:
    for name, content in PAGE.items():
        text = content.decode()
        addresses = set(re.findall(r"\b(?:https?|wss?)://[\w.]+", text))
        assert addresses <= {"http://www.w3.org"}, name  # the namespace of SVG
        assert "innerHTML" not in text
        assert "eval(" not in text
    html = PAGE["index.html"].decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert re.findall(r"\son\w+=|style=", html) == []


# --- what may be asked ----------------------------------------------------------------------------

POINT = [0, 0]
WRONG: list[dict[str, Any]] = [
    {},
    {"do": "nothing"},
    {"do": ["hello"]},
    {"do": "__init__"},
    {"do": "hello", "path": "/etc/passwd"},
    {"do": "inspect"},
    {"do": "inspect", "row": -1},
    {"do": "inspect", "row": 1.5},
    {"do": "inspect", "row": True},
    {"do": "inspect", "row": 10**6},
    {"do": "inspect", "row": "0"},
    {"do": "frames", "row": 0, "start": -1},
    {"do": "edit", "edit": {"do": "delete"}},
    {"do": "edit", "edit": {"do": "block", "start": POINT, "end": [0, "1"]}},
    {"do": "edit", "edit": {"do": "block", "start": POINT, "end": [0, 1e999]}},
    {"do": "edit", "edit": {"do": "run", "name": "../run"}},
    {"do": "edit", "edit": {"do": "run", "name": "t-maze"}},
    {"do": "edit", "edit": {"do": "paint", "points": [], "radius": 1, "reward": 1, "ends": True}},
    {
        "do": "edit",
        "edit": {"do": "paint", "points": [POINT] * 2001, "radius": 1, "reward": 1, "ends": True},
    },
    {"do": "load", "kept": [], "edits": [{"do": "reverse"}] * 101},
    {"do": "load", "kept": [], "edits": "all"},
    {"do": "save", "name": "../evil"},
    {"do": "save", "name": "/evil"},
    {"do": "save", "name": "a/b"},
    {"do": "save", "name": "..npz"},
    {"do": "save", "name": "C:evil"},
    {"do": "save", "name": ""},
    {"do": "save", "name": "x" * 65},
    {"do": "export", "kind": "pickle"},
    {"do": "export", "kind": "csv"},
    {"do": "slow", "source": "/etc"},
    {"do": "step", "action": 0, "by": "agent"},
    {"do": "drive", "start": True},
    {"do": "undo"},
    {"do": "redo"},
]


@pytest.fixture(scope="module")
def page(door: Door) -> Iterator[ClientConnection]:
    with page_of(door) as connection:
        yield connection


@pytest.mark.parametrize("message", WRONG, ids=lambda m: json.dumps(m)[:60])
def test_a_wrong_request_gets_one_line_and_changes_nothing(
    page: ClientConnection, message: dict[str, Any]
) -> None:
    answer = asked(page, **message)
    assert set(answer) == {"id", "error"}
    assert answer["error"].count("\n") == 0
    assert len(answer["error"]) < 500
    # The page goes on as before.
    assert asked(page, do="hello")["title"] == "a grid"
    with pytest.raises(TimeoutError):
        page.recv(timeout=0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"do": "hello"}',
        '{"id": "1", "do": "hello"}',
        "[" * 5000,
        b"\x00\x01",
        "NaN",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_a_malformed_message_ends_the_connection(door: Door, text: str | bytes) -> None:
    with page_of(door) as connection:
        connection.send(text)
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)
        assert connection.close_code == 1008


def test_an_oversized_message_ends_the_connection(door: Door) -> None:
    with page_of(door) as connection:
        connection.send(json.dumps({"id": 1, "do": "hello", "more": "x" * MAX_MESSAGE}))
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)
        assert connection.close_code == 1009


def test_no_request_has_a_field_for_a_path_or_for_code() -> None:
    fields = {field for known in (REQUESTS, EDITS) for each in known.values() for field in each}
    assert not fields & {"path", "file", "directory", "folder", "code", "expression", "url"}


def test_pages_are_limited_in_number(door: Door) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(page_of(door)) for _ in range(MAX_PAGES + 1)]
        *_, last = pages
        with pytest.raises(ConnectionClosed):
            last.recv(timeout=10)
        assert last.close_code == 1013
        assert asked(pages[0], do="hello")["title"] == "a grid"
