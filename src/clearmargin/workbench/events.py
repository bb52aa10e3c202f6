"""Server-sent events: what happens in a project, told to all its tabs.

Each stream remembers only up to which event it has sent, and reads on in the list of kept events. So a slow reader
costs no memory, and a tab that comes back (`Last-Event-ID`) is a reader like the others. Events that tell the whole
state of one thing, such as a job, replace the one before: a tab that was away needs the newest alone.

Numbers of events go on over a restart of the server, because they begin at its clock. A tab that has missed what is
no longer kept is sent the event ``missed``, and has to load its page again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from clearmargin.exceptions import InvalidValueError

# Milliseconds until a browser connects again.
_RETRY = b"retry: 1000\n\n"
_STILL_HERE = b": still here\n\n"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# More digits than any number of ours has: JavaScript counts exactly up to 2**53.
_DIGITS = 16


class Events:
    """The events of one project."""

    def __init__(self, *, keep: int = 1000, pause: float = 15.0):
        self._keep, self._pause = keep, pause
        self._last_id = self._forgotten = time.time_ns() // 1_000_000
        self._kept: dict[int, bytes] = {}
        self._newest_of: dict[str, int] = {}
        self._name_of: dict[int, str] = {}
        self._streams: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._is_closed = False
        # Re-entrant: a signal handler, which runs between any two lines of the main thread, may call `close`.
        self._lock = threading.RLock()

    @property
    def last_id(self) -> int:
        """The number of the newest event; a page that was made now asks for those after it."""
        return self._last_id

    def publish(
        self,
        what: str,
        body: dict[str, Any],
        *,
        stored_id: int | None = None,
        replaces: str | None = None,
    ) -> int:
        """Tell all tabs of something, from any thread."""
        if not _NAME.fullmatch(what):
            raise InvalidValueError(
                f"an event is named by letters, digits, '_', '-' and dots, not {what!r}"
            )
        told = body if stored_id is None else {**body, "stored_id": stored_id}
        # ASCII alone: no character of a name or a message can end a line of the stream.
        data = json.dumps(told, sort_keys=True, ensure_ascii=True, allow_nan=False)
        with self._lock:
            self._last_id += 1
            number = self._last_id
            self._kept[number] = f"id: {number}\nevent: {what}\ndata: {data}\n\n".encode("ascii")
            if replaces is not None:
                self._drop(self._newest_of.get(replaces))
                self._newest_of[replaces], self._name_of[number] = number, replaces
            while len(self._kept) > self._keep:
                self._forgotten = next(iter(self._kept))
                self._drop(self._forgotten)
            self._wake()
        return number

    async def stream(self, last_id: int = 0) -> AsyncIterator[bytes]:
        """Send what was published after an event, and go on until the server shuts down."""
        changed = asyncio.Event()
        with self._lock:
            self._streams[changed] = asyncio.get_running_loop()
            # A number that is not given yet is one of another clock: nobody knows what this tab has seen.
            seen = -1 if last_id > self._last_id else last_id if last_id > 0 else self._forgotten
        try:
            yield _RETRY
            while True:
                changed.clear()
                # Asked before the list is read: what was published before the end is sent.
                is_closed = self._is_closed
                seen, chunks = self._after(seen)
                for chunk in chunks:
                    yield chunk
                if is_closed:
                    return
                if not chunks and not await _happened(changed, self._pause):
                    yield _STILL_HERE
        finally:
            with self._lock:
                self._streams.pop(changed, None)

    def close(self) -> None:
        """End all streams, now and later; from any thread, or a signal handler."""
        with self._lock:
            self._is_closed = True
            self._wake()

    def _drop(self, number: int | None) -> None:
        if number is None or self._kept.pop(number, None) is None:
            return
        name = self._name_of.pop(number, None)
        if name is not None and self._newest_of.get(name) == number:
            del self._newest_of[name]

    def _after(self, seen: int) -> tuple[int, list[bytes]]:
        """Return the number of the newest event, and the events after one, oldest first."""
        with self._lock:
            newer = []
            for number in reversed(self._kept):
                if number <= seen:
                    break
                newer.append(self._kept[number])
            if seen < self._forgotten:
                newer.append(
                    f"id: {self._forgotten}\nevent: missed\ndata: {{}}\n\n".encode("ascii")
                )
            return self._last_id, newer[::-1]

    def _wake(self) -> None:
        for changed, loop in list(self._streams.items()):
            try:
                loop.call_soon_threadsafe(changed.set)
            except RuntimeError:  # the loop was closed before the stream
                self._streams.pop(changed, None)


async def _happened(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; return whether it happened in time."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def read_last_id(header: str | None) -> int:
    """Read the header ``Last-Event-ID``; 0 if it is absent or no number of ours."""
    text = (header or "").strip()
    return int(text) if len(text) <= _DIGITS and text.isascii() and text.isdecimal() else 0
