"""Server-sent events: every tab is told everything, also one that was away, and none can slow down the others."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from tests.workbench.coroutines import run_alone

from clearmargin.exceptions import InvalidValueError
from clearmargin.workbench.events import Events, read_last_id

# Seconds: far longer than anything here takes.
PATIENCE = 30


def parse(stream: bytes) -> list[tuple[str, str, object]]:
    """Read a stream as browsers do: lines end at CR, LF or both, an event at an empty line."""
    found, fields = [], {}
    for line in stream.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line:
            if "data" in fields:
                found.append((fields.get("id"), fields.get("event"), json.loads(fields["data"])))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
    return found


async def read(events: Events, last_id: int, n: int) -> list[tuple[str, str, object]]:
    """Take n events of a new stream."""
    taken = b""
    async with asyncio.timeout(PATIENCE), contextlib.aclosing(events.stream(last_id)) as stream:
        async for chunk in stream:
            taken += chunk
            if len(parse(taken)) == n:
                break
    return parse(taken)


async def read_to_end(
    events: Events, last_id: int = 0, hold: dict[int, asyncio.Event] | None = None
) -> bytes:
    """Take all of a new stream; `hold` says after how many chunks something is waited for."""
    taken = []
    async with asyncio.timeout(PATIENCE):
        async for chunk in events.stream(last_id):
            taken.append(chunk)
            if hold and len(taken) in hold:
                await hold[len(taken)].wait()
    return b"".join(taken)


def numbers(stream: bytes) -> list[object]:
    return [data["n"] for _, what, data in parse(stream) if what == "step"]


def test_an_event_has_a_number_a_name_and_data():
    events = Events()
    number = events.publish("kept", {"why": "too low", "revision": 8})
    events.close()
    assert run_alone(read_to_end(events)) == (
        b'retry: 1000\n\nid: %d\nevent: kept\ndata: {"revision": 8, "why": "too low"}\n\n' % number
    )


def test_numbers_go_up_by_one_and_a_page_can_ask_for_the_newest():
    events = Events()
    first = events.publish("step", {})
    assert events.publish("step", {}) == first + 1 == events.last_id


def test_the_row_of_the_file_is_sent_with_the_data():
    events = Events()
    body = {"n": 1}
    events.publish("kept", body, stored_id=12)
    assert run_alone(read(events, 0, 1))[0][2] == {"n": 1, "stored_id": 12}
    assert body == {"n": 1}


@pytest.mark.parametrize(
    "text",
    [
        "a\nb\r\nc\rd",
        "\n\nid: 7\nevent: fake\ndata: {}\n\n",
        "größe \u2028\u2029\x85 😀 \udcff \0",
        "",
    ],
)
def test_no_text_can_break_out_of_its_event(text):
    events = Events()
    events.publish("step", {text: [text, {"deep": text}]})
    events.publish("step", {"n": 2})
    found = run_alone(read(events, 0, 2))
    assert [data for _, _, data in found] == [{text: [text, {"deep": text}]}, {"n": 2}]


@pytest.mark.parametrize("name", ["", "a b", "a\nid: 1", "größe", "a:b"])
def test_a_name_that_would_break_the_stream_is_refused(name):
    with pytest.raises(InvalidValueError, match="an event is named by letters"):
        Events().publish(name, {})


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        Events().publish("step", {"score": float("nan")})


def test_a_tab_that_comes_back_gets_what_it_has_missed_and_nothing_twice():
    events = Events()
    ids = [events.publish("step", {"n": n}) for n in range(10)]
    events.close()
    assert numbers(run_alone(read_to_end(events, ids[6]))) == [7, 8, 9]
    assert numbers(run_alone(read_to_end(events, ids[-1]))) == []
    assert numbers(run_alone(read_to_end(events, 0))) == list(range(10))


def test_a_tab_that_was_away_too_long_is_told_so():
    events = Events(keep=3)
    ids = [events.publish("step", {"n": n}) for n in range(10)]
    events.close()
    found = parse(run_alone(read_to_end(events, ids[2])))
    assert found[0] == (str(ids[6]), "missed", {})
    assert [data["n"] for _, _, data in found[1:]] == [7, 8, 9]
    # The last that is kept is the first that it has not seen: nothing is missing.
    assert parse(run_alone(read_to_end(events, ids[6])))[0][1] == "step"


def test_a_tab_that_has_seen_nothing_has_missed_nothing():
    events = Events(keep=3)
    for n in range(10):
        events.publish("step", {"n": n})
    events.close()
    assert [what for _, what, _ in parse(run_alone(read_to_end(events)))] == ["step"] * 3


def test_numbers_go_on_after_the_server_was_started_again(monkeypatch):
    before = Events()
    seen = before.publish("step", {"n": 1})
    tomorrow = time.time_ns() + 86_400 * 10**9
    monkeypatch.setattr("time.time_ns", lambda: tomorrow)
    after = Events()
    assert after.publish("step", {"n": 2}) > seen
    after.close()
    found = parse(run_alone(read_to_end(after, seen)))
    assert [what for _, what, _ in found] == ["missed", "step"]


def test_a_number_from_the_future_is_one_of_another_clock():
    events = Events()
    number = events.publish("step", {"n": 1})
    events.close()
    found = parse(run_alone(read_to_end(events, number + 5)))
    assert [what for _, what, _ in found] == ["missed", "step"]


def test_of_a_thing_with_a_state_the_newest_is_kept():
    events = Events(keep=4)
    for n in range(50):
        events.publish("job", {"id": 1, "n": n}, replaces="job 1")
        events.publish("job", {"id": 2, "n": n}, replaces="job 2")
    first = events.publish("kept", {"n": 0})
    events.publish("job", {"id": 1, "n": 50}, replaces="job 1")
    events.close()
    found = [(what, data["n"]) for _, what, data in parse(run_alone(read_to_end(events)))]
    assert found == [("job", 49), ("kept", 0), ("job", 50)]
    # Replaced events were not forgotten: the newer ones say the same and more.
    back = parse(run_alone(read_to_end(events, first - 40)))
    assert [what for _, what, _ in back] == ["job", "kept", "job"]


def test_a_thing_that_was_forgotten_can_be_told_of_again():
    events = Events(keep=2)
    events.publish("job", {"n": 0}, replaces="job 1")
    for n in (1, 2):
        events.publish("step", {"n": n})
    events.publish("job", {"n": 3}, replaces="job 1")
    events.publish("job", {"n": 4}, replaces="job 1")
    events.close()
    found = [data["n"] for _, _, data in parse(run_alone(read_to_end(events)))]
    assert found == [2, 4]


def test_two_streams_get_everything_in_order_while_threads_publish():
    events = Events(keep=10_000)

    def publish(name: str) -> None:
        for n in range(200):
            events.publish("step", {"n": n, "thread": name})

    async def both() -> list[bytes]:
        streams = [asyncio.create_task(read_to_end(events)) for _ in range(2)]
        threads = [threading.Thread(target=publish, args=(name,)) for name in "ab"]
        await asyncio.sleep(0)
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        events.close()
        return await asyncio.gather(*streams)

    one, other = (parse(stream) for stream in run_alone(both()))
    assert one == other
    assert len({number for number, _, _ in one}) == 400
    for name in "ab":
        assert [data["n"] for _, _, data in one if data["thread"] == name] == list(range(200))


@pytest.mark.parametrize("n_read", [1, 11])
def test_a_slow_reader_keeps_nobody_waiting_and_is_told_what_it_has_missed(n_read):
    events = Events(keep=20)

    async def publish(first: int, last: int) -> None:
        for n in range(first, last):
            events.publish("step", {"n": n})
            # Others run once or twice before the next one.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def fast_and_slow() -> tuple[bytes, bytes]:
        go_on = asyncio.Event()
        fast = asyncio.create_task(read_to_end(events))
        slow = asyncio.create_task(read_to_end(events, hold={n_read: go_on}))
        await asyncio.sleep(0)
        await publish(0, 300)
        # What waits for the slow one is no list of its own, which would grow.
        assert len(events._kept) == 20
        go_on.set()
        await publish(300, 305)
        events.close()
        return await fast, await slow

    fast, slow = run_alone(fast_and_slow())
    assert numbers(fast) == list(range(305))
    # The first chunk says when to connect again. One of the others may be late by a round.
    seen = numbers(slow)
    assert seen[: n_read - 1] == list(range(n_read - 1))
    assert seen == sorted(set(seen))
    assert seen[-5:] == list(range(300, 305))
    assert len(seen) < 50
    assert "missed" in [what for _, what, _ in parse(slow)]


def test_silence_is_filled_with_comments():
    events = Events(pause=0.01)

    async def first_chunks() -> list[bytes]:
        async with asyncio.timeout(PATIENCE), contextlib.aclosing(events.stream(0)) as stream:
            return [await anext(stream) for _ in range(3)]

    assert run_alone(first_chunks()) == [b"retry: 1000\n\n", *[b": still here\n\n"] * 2]


def test_what_was_published_before_the_end_is_sent_and_then_the_stream_ends():
    events = Events()

    async def until_closed() -> bytes:
        reading = asyncio.create_task(read_to_end(events))
        await asyncio.sleep(0.01)
        events.publish("step", {"n": 1})
        threading.Thread(target=events.close).start()
        return await reading

    assert numbers(run_alone(until_closed())) == [1]
    assert events.n_streams == 0
    # Later streams end at once.
    assert numbers(run_alone(read_to_end(events))) == [1]


def test_a_signal_handler_may_end_everything_in_the_middle_of_a_publication():
    events = Events()
    # The handler runs in the thread that holds the lock.
    with events._lock:
        events.close()
    assert run_alone(read_to_end(events)) == b"retry: 1000\n\n"


def test_a_tab_that_goes_leaves_nothing_behind():
    events = Events()

    async def come_and_go() -> tuple[int, int]:
        stream = events.stream(0)
        await anext(stream)
        before = events.n_streams
        await stream.aclose()
        return before, events.n_streams

    assert run_alone(come_and_go()) == (1, 0)


def test_a_loop_that_was_closed_is_forgotten():
    events = Events()
    loop = asyncio.new_event_loop()
    stream = events.stream(0)
    loop.run_until_complete(anext(stream))
    loop.close()
    assert events.n_streams == 1
    events.publish("step", {"n": 1})
    assert events.n_streams == 0
    run_alone(stream.aclose())


@pytest.mark.parametrize(
    ("header", "number"),
    [
        ("17", 17),
        (" 17 ", 17),
        (None, 0),
        ("", 0),
        ("-1", 0),
        ("1e3", 0),
        ("٣", 0),
        ("²", 0),
        ("9" * 5000, 0),
    ],
)
def test_a_header_that_is_no_number_of_ours_asks_for_everything(header, number):
    assert read_last_id(header) == number


@pytest.fixture
def served():
    """Gives events and the port of a server that streams them."""
    events = Events(pause=0.2)

    async def stream(request):
        seen = read_last_id(request.headers.get("last-event-id"))
        return StreamingResponse(events.stream(seen), media_type="text/event-stream")

    app = Starlette(routes=[Route("/events", stream)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        # From here on browsers can come; they wait until the server has started.
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield events, listener.getsockname()[1]
        # Without the end of the streams the server would wait for them.
        server.should_exit = True
        events.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextlib.contextmanager
def opened(port: int, last_id: int | None = None):
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
    browser.request("GET", "/events", headers=headers)
    answer = browser.getresponse()
    try:
        yield answer
    finally:
        answer.close()
        browser.close()


def next_event(answer) -> tuple[str, str, object]:
    lines = b""
    while not (found := parse(lines)):
        line = answer.readline()
        assert line, "the stream has ended"
        lines += line
    return found[0]


def test_a_browser_is_told_at_once_and_goes_on_where_it_was(served):
    events, port = served
    with opened(port) as one, opened(port) as other:
        assert one.headers["content-type"].startswith("text/event-stream")
        events.publish("step", {"n": 1, "text": "größe\n😀"})
        expected = {"n": 1, "text": "größe\n😀"}
        assert next_event(one)[2] == next_event(other)[2] == expected
        number = int(next_event_after(events, one))
    events.publish("step", {"n": 3})
    with opened(port, number) as again:
        assert next_event(again)[2] == {"n": 3}


def next_event_after(events: Events, answer) -> str:
    events.publish("step", {"n": 2})
    number, _, data = next_event(answer)
    assert data == {"n": 2}
    return number


def test_a_browser_that_goes_is_forgotten(served):
    events, port = served
    with opened(port) as answer:
        events.publish("step", {"n": 1})
        next_event(answer)
        assert events.n_streams == 1
    deadline = time.monotonic() + PATIENCE
    while events.n_streams and time.monotonic() < deadline:
        time.sleep(0.01)
    assert events.n_streams == 0


def test_the_end_of_the_server_ends_the_stream(served):
    events, port = served
    with opened(port) as answer:
        events.publish("step", {"n": 1})
        events.close()
        assert parse(answer.read())[0][2] == {"n": 1}
