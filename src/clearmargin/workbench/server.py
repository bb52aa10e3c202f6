"""The server under the workbench: uvicorn, set to say nothing of itself and to end without being asked twice.

`Front` answers from the first moment on, with a page that waits until the workbench itself is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from clearmargin.exceptions import ClearmarginError
from clearmargin.workbench.guard import Access, Guard, plain_page, security_headers

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from clearmargin.workbench.guard import App, Receive, Scope, Send

# Where `/open` leads: it waits until there is a first page.
BEGIN = "/begin"
# Bytes of a request before its body; longer ones than the guard takes are read as far as this, to be refused in words.
_LONGEST_HEAD = 2**15
# Seconds that a request may take to end when the server stops.
_LAST_WORDS = 3
# Seconds that a page, which asks each second, has to fetch why nothing was loaded.
_FAREWELL = 2


class _Protocol(H11Protocol):
    """HTTP as uvicorn speaks it, with our headers also on the answer to what is no HTTP at all."""

    def send_400_response(self, msg: str) -> None:
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=[*headers, *security_headers()]),
            h11.Data(data=b"This is no HTTP request that this server understands."),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """Serve an application on a socket that is bound already."""

    def __init__(self, app: App, guard: Guard | None = None):
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="on",
            # Its own log would hold addresses; what goes wrong in our code is logged by the guard.
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_LAST_WORDS,
        )
        super().__init__(config)
        self._guard = guard

    def stop(self) -> None:
        """Ask the server to end; from any thread."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        if self._guard is not None:
            self._guard.close()
        await super().shutdown(sockets)


class Front:
    """Answer while the workbench loads in the background, then let it answer."""

    def __init__(
        self,
        load: Callable[[], tuple[Starlette, str]],
        access: Access,
        *,
        on_start: Callable[[], object] = lambda: None,
        patience: float | None = None,
    ):
        self.guard = Guard(self._answer, access)
        self.failure: Exception | None = None
        self.on_end: Callable[[], object] = lambda: None
        self._load = load
        self._on_start = on_start
        self._patience = patience
        self._app: Starlette | None = None
        self._first_page = "/"
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live as long as the server, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self.guard(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._watch())]
        await send({"type": "lifespan.startup.complete"})
        self._on_start()
        await receive()
        self._ending.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _run(self) -> None:
        """Load the application, and keep what it opens at its start open until the server ends."""
        try:
            app, self._first_page = await asyncio.to_thread(self._load)
            # In one task from start to end: what is opened in one cannot be closed in another.
            async with app.router.lifespan_context(app):
                self._app = app
                await self._ending.wait()
        except Exception as error:  # said by the page, and by whoever started the server
            self.failure = error
            await self._pause(_FAREWELL)
            self.on_end()

    async def _watch(self) -> None:
        """End when the last tab has gone; a page that is loaded again, or the next one, comes back in time."""
        guard, patience = self.guard, self._patience
        while patience is not None and not self._ending.is_set():
            await self._pause(min(1.0, patience))
            is_silent = time.monotonic() - guard.last_seen > patience
            if guard.seen_stream and not guard.streams and is_silent:
                self.on_end()
                return

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["method"] in ("GET", "HEAD")
        if self.failure is not None:
            await _send(send, 500, plain_page("The workbench has stopped", _words(self.failure)))
        elif self._app is not None and scope["path"] == BEGIN and is_page:
            await _send(send, 303, b"", location=self._first_page)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif is_page:
            page = plain_page(
                "Workbench", "The workbench is starting. This page goes on by itself."
            )
            await _send(send, 200, page, refresh="1")
        else:
            page = plain_page("Workbench", "The workbench is starting. Try again in a moment.")
            await _send(send, 503, page, retry_after="1")


def _words(failure: Exception) -> str:
    """What went wrong, for people; of a mistake of ours the terminal says more."""
    if isinstance(failure, ClearmarginError | OSError):
        return str(failure)
    return "Internal error: this is a bug in clearmargin. The terminal says more."


async def _send(send: Send, status: int, content: bytes, **headers: str) -> None:
    lines: dict[str, Any] = {"content-type": "text/html; charset=utf-8", **headers}
    raw = [
        (name.replace("_", "-").encode(), str(value).encode("latin-1"))
        for name, value in (*lines.items(), ("content-length", len(content)))
    ]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content, "more_body": False})
