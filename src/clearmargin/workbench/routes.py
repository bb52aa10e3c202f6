"""Addresses of the workbench: which function answers which request.

Handlers read what was sent, call one function over the open project in a thread, and give plain data or a page back.
`guard.py` stands in front of all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from clearmargin.exceptions import ClearmarginError, InvalidValueError
from clearmargin.rules.file_writing import writing_to
from clearmargin.workbench import pages
from clearmargin.workbench.bench import Bench, RuleMistakesError, check_size
from clearmargin.workbench.case_facts import explained_case, recourse_for, what_if
from clearmargin.workbench.columns import column_block
from clearmargin.workbench.events import Events, read_last_id
from clearmargin.workbench.guard import (
    Access,
    attachment,
    read_form,
    read_json,
    read_upload,
)
from clearmargin.workbench.history import StaleHeadError
from clearmargin.workbench.project_table import NotThereError
from clearmargin.workbench.projects import Projects
from clearmargin.workbench.settings import MachineSettings
from clearmargin.workbench.static_files import StaticFiles
from clearmargin.workbench.stored_values import as_finite, as_whole
from clearmargin.workbench.taken_away import FORMS, cases_csv, make_form, subject, trained
from clearmargin.workbench.work import KINDS

# Seconds that a check may take.
_LONGEST = 20
Handler = Callable[[Request], Awaitable[Response]]


class _Number(Convertor[int]):
    """A number in an address, of as many digits as a project file can hold."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """Read it."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Write it."""
        return str(value)


register_url_convertor("number", _Number())


def make_app(folder: Path, access: Access) -> Starlette:
    """Make the application over the projects of a folder."""
    app = _App(Projects(folder, access.author or "the expert"), access)
    errors: dict[Any, Any] = {
        ClearmarginError: app.refused,
        HTTPException: app.http_error,
    }
    return Starlette(routes=app.routes(), exception_handlers=errors, lifespan=app.lifespan)


@dataclass
class _Lane:
    """One thing at a time; of the requests of one tab only the newest is answered."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    newest: dict[str, int] = field(default_factory=dict)

    async def run(self, tab: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """Answer, unless the same tab has asked again meanwhile."""
        number = self.newest.get(tab, 0) + 1
        self.newest[tab] = number
        async with self.lock:
            # Requests without the name of a tab are nobody's.
            if tab and self.newest.get(tab) != number:
                return None
            try:
                answer = await asyncio.wait_for(asyncio.to_thread(work), _LONGEST)
            except TimeoutError:
                raise HTTPException(
                    503, f"This took longer than {_LONGEST} s; try fewer rules at once."
                ) from None
        if len(self.newest) > 1000:
            self.newest.clear()
        return answer


class _App:
    """The handlers, over the open projects."""

    def __init__(self, projects: Projects, access: Access):
        self.projects, self.access = projects, access
        self.static = StaticFiles()
        # The start page has no project; its stream only tells that the tab is there.
        self.events = Events()
        self._checks: dict[str, _Lane] = {}
        self._previews: dict[str, _Lane] = {}

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Close all projects when the server ends."""
        try:
            yield
        finally:
            self.events.close()
            await run_in_threadpool(self.projects.close)

    def routes(self) -> list[Route]:
        """List all addresses."""
        listed: list[tuple[str, str, Handler]] = [
            ("GET", "/", self.start),
            ("GET", "/favicon.ico", self.icon),
            ("GET", "/events", self.start_stream),
            ("POST", "/projects", self.upload),
            ("POST", "/examples", self.example),
            ("POST", "/duplicates", self.duplicate),
            ("GET", "/static/{digest}/{name}", self.asset),
            ("GET", "/p/{id}", self.project),
            ("GET", "/p/{id}/data", self._page(pages.data_page)),
            ("GET", "/p/{id}/rules", self._page(pages.rules_page)),
            ("GET", "/p/{id}/cases", self._page(pages.cases_page)),
            ("GET", "/p/{id}/cases/{row:number}", self._page(pages.case_page)),
            ("GET", "/p/{id}/contrast", self._page(pages.contrast_page)),
            ("GET", "/p/{id}/history", self._page(pages.history_page)),
            ("GET", "/p/{id}/export", self._page(pages.export_page)),
            ("GET", "/p/{id}/revisions/{r:number}", self._page(pages.revision_page)),
            (
                "GET",
                "/p/{id}/revisions/{r:number}/against/{s:number}",
                self._page(pages.difference_page),
            ),
            ("POST", "/p/{id}/task", self.task),
            ("GET", "/p/{id}/columns/{digest}", self.columns),
            ("POST", "/p/{id}/check", self.check),
            ("POST", "/p/{id}/preview", self.preview),
            ("POST", "/p/{id}/complete", self.complete),
            ("POST", "/p/{id}/edit", self.edit),
            ("POST", "/p/{id}/draft", self.draft),
            ("POST", "/p/{id}/jobs", self.start_job),
            ("DELETE", "/p/{id}/jobs/{j:number}", self.cancel_job),
            ("GET", "/p/{id}/results/{kind}", self.result),
            ("GET", "/p/{id}/events", self.event_stream),
            ("POST", "/p/{id}/revisions", self.keep),
            ("POST", "/p/{id}/revisions/{r:number}/restore", self.restore),
            ("POST", "/p/{id}/cases/{row:number}/what-if", self.what_if),
            ("POST", "/p/{id}/cases/{row:number}/explain", self._case(explained_case)),
            ("POST", "/p/{id}/cases/{row:number}/recourse", self._case(recourse_for)),
            ("POST", "/p/{id}/cases/{row:number}/notes", self.note),
            ("POST", "/p/{id}/exam", self.exam),
            ("GET", "/p/{id}/export/{form}", self.export),
        ]
        return [Route(path, handler, methods=[method]) for method, path, handler in listed]

    # What goes wrong

    async def refused(self, request: Request, error: Exception) -> Response:
        """Say what is wrong with what was asked, as data or as a page."""
        body: dict[str, Any] = {"message": str(error)}
        status = 404 if isinstance(error, NotThereError) else 422
        if isinstance(error, StaleHeadError):
            status = 409
            body["head"] = error.head.id
        if isinstance(error, RuleMistakesError):
            body["errors"] = error.errors
        if _wants_page(request):
            return await self._problem_page(request, status, str(error))
        return JSONResponse(body, status)

    async def http_error(self, request: Request, error: HTTPException) -> Response:
        """Answer for what is refused by its status."""
        words = {
            404: "There is nothing at this address.",
            405: "This address takes no such request.",
        }
        text = words.get(error.status_code, str(error.detail))
        if _wants_page(request):
            return await self._problem_page(request, error.status_code, text)
        return JSONResponse({"message": text}, error.status_code, error.headers)

    async def _problem_page(self, request: Request, status: int, text: str) -> Response:
        project = request.path_params.get("id")
        is_known = project is not None and project in self.projects
        page = pages.problem_page(text, f"/p/{project}" if is_known else None, self.static)
        return Response(page, status, media_type="text/html")

    # Helpers

    async def _bench(self, request: Request) -> Bench:
        return await run_in_threadpool(self.projects.bench, request.path_params["id"])

    def _page(self, make: Callable[[pages.Asked], str | pages.Elsewhere]) -> Handler:
        """Answer with a page that is made of the open project."""

        async def answer(request: Request) -> Response:
            bench = await self._bench(request)
            asked = pages.Asked(
                bench,
                self.access,
                self.static,
                dict(request.query_params),
                dict(request.path_params),
            )
            made = await run_in_threadpool(make, asked)
            if isinstance(made, pages.Elsewhere):
                return RedirectResponse(made.address, 303)
            return Response(made, media_type="text/html")

        return answer

    def _case(self, answer: Callable[[Any, int], dict[str, Any]]) -> Handler:
        async def handler(request: Request) -> Response:
            await read_json(request)
            bench = await self._bench(request)
            row = int(request.path_params["row"])
            return JSONResponse(await run_in_threadpool(lambda: answer(bench.version(), row)))

        return handler

    # Start

    async def start(self, _: Request) -> Response:
        """Show the projects of the folder, and how to make one."""
        listed = await run_in_threadpool(self.projects.listed)
        return Response(
            pages.start_page(listed, self.access, self.static, self.projects.folder),
            media_type="text/html",
        )

    async def start_stream(self, _: Request) -> Response:
        """Keep a stream open, by which the server knows that somebody looks at the start page."""
        return StreamingResponse(self.events.stream(), media_type="text/event-stream")

    async def upload(self, request: Request) -> Response:
        """Make a project of a table."""
        sent = await read_upload(request, self.access)
        share = pages.read_share(sent.fields.get("sealed", "20"))
        project = await run_in_threadpool(self.projects.create, sent.name, sent.content, share)
        return RedirectResponse(f"/p/{project}/data", 303)

    async def example(self, request: Request) -> Response:
        """Make a project of a data set inside the package."""
        fields = await read_form(request, self.access)
        share = pages.read_share(fields.get("sealed", "20"))
        project = await run_in_threadpool(
            self.projects.create_example, fields.get("name", ""), share
        )
        return RedirectResponse(f"/p/{project}/data", 303)

    async def duplicate(self, request: Request) -> Response:
        """Make a copy of a project, to try something out."""
        fields = await read_form(request, self.access)
        project = await run_in_threadpool(self.projects.duplicate, fields.get("project", ""))
        return RedirectResponse(f"/p/{project}", 303)

    async def icon(self, _: Request) -> Response:
        """Answer browsers that ask for a picture of the site: there is none."""
        return Response(status_code=204)

    async def asset(self, request: Request) -> Response:
        """Give a file of ours; addresses hold a digest, so that browsers may keep it."""
        found = self.static.get(request.path_params["digest"], request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        content, media = found
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        return Response(content, media_type=media, headers=headers)

    async def project(self, request: Request) -> Response:
        """Lead to the page that is next."""
        bench = await self._bench(request)
        where = "rules" if bench.has_task else "data"
        return RedirectResponse(f"/p/{request.path_params['id']}/{where}", 303)

    # Data

    async def task(self, request: Request) -> Response:
        """Choose what is to be learned."""
        bench = await self._bench(request)
        if request.headers.get("content-type", "").startswith("application/json"):
            given = await read_json(request)
            author, why = _text(given, "author", ""), _text(given, "why", "")
            settings = given.get("settings")
            if not isinstance(settings, dict):
                raise InvalidValueError("settings must be an object")
            kept = await run_in_threadpool(bench.set_task, settings, author or None, why)
            return JSONResponse({"revision": kept.id})
        fields = await read_form(request, self.access)
        columns = await run_in_threadpool(lambda: bench.table.table.columns)
        settings = pages.read_task_form(fields, columns)
        await run_in_threadpool(bench.set_task, settings, None, fields.get("why", ""))
        return RedirectResponse(f"/p/{request.path_params['id']}/rules", 303)

    # Rules

    async def columns(self, request: Request) -> Response:
        """Give the columns as typed arrays."""
        bench = await self._bench(request)
        # The name in the address only keeps a browser from taking old columns for new ones.
        block = await run_in_threadpool(lambda: column_block(bench.version()))
        return Response(block, media_type="application/octet-stream")

    async def check(self, request: Request) -> Response:
        """Judge a text while it is being written."""
        given = await read_json(request)
        bench = await self._bench(request)
        text, serial = _text(given, "text"), given.get("serial")
        lane = self._checks.setdefault(bench.file.id, _Lane())
        answer = await lane.run(_text(given, "tab", ""), lambda: _checked(bench, text))
        if answer is None:
            return JSONResponse({"serial": serial, "superseded": True})
        return JSONResponse({**answer, "serial": serial})

    async def preview(self, request: Request) -> Response:
        """Say what would change."""
        given = await read_json(request)
        bench = await self._bench(request)
        text, serial, settings = _text(given, "text"), given.get("serial"), given.get("settings")
        lane = self._previews.setdefault(bench.file.id, _Lane())
        answer = await lane.run(
            _text(given, "tab", ""), lambda: bench.preview(text, settings, serial=serial)
        )
        if answer is None:
            return JSONResponse({"serial": serial, "superseded": True})
        return JSONResponse({**answer, "serial": serial}, 202 if "job" in answer else 200)

    async def complete(self, request: Request) -> Response:
        """List what may come next."""
        given = await read_json(request)
        bench = await self._bench(request)
        text, offset = _text(given, "text"), _number(given, "offset")
        found = await run_in_threadpool(bench.complete, text, int(offset))
        return JSONResponse({"candidates": found, "serial": given.get("serial")})

    async def edit(self, request: Request) -> Response:
        """Change one bound in a text."""
        given = await read_json(request)
        bench = await self._bench(request)
        value = given.get("value")
        changed = await run_in_threadpool(
            bench.edit,
            _text(given, "text"),
            int(_number(given, "rule")),
            _text(given, "feature"),
            _text(given, "side"),
            None if value is None else _number(given, "value"),
        )
        return JSONResponse({"text": changed, "serial": given.get("serial")})

    async def draft(self, request: Request) -> Response:
        """Keep what is being typed, so that it survives a crash."""
        given = await read_json(request)
        bench = await self._bench(request)
        base, text = _version_number(given.get("base")), check_size(_text(given, "text"))
        await run_in_threadpool(bench.file.put_draft, _tab(given), base, text)
        return JSONResponse({"kept": True})

    async def keep(self, request: Request) -> Response:
        """Keep a text as a new version; a stale one is met with both differences."""
        is_form = not request.headers.get("content-type", "").startswith("application/json")
        given: dict[str, Any] = (
            dict(await read_form(request, self.access)) if is_form else await read_json(request)
        )
        bench = await self._bench(request)
        base = _version_number(given.get("base"))
        text = _text(given, "text")
        text = text.replace("\r\n", "\n") if is_form else text
        try:
            kept = await run_in_threadpool(
                lambda: bench.keep(
                    text,
                    why=_text(given, "why", "") or "no reason given",
                    base=base,
                    author=_text(given, "author", "") or None,
                    settings=None if is_form else given.get("settings"),
                )
            )
        except StaleHeadError as error:
            if is_form:
                raise
            three = await run_in_threadpool(bench.history.three_way, base, text)
            return JSONResponse({"message": str(error), **three}, 409)
        if given.get("tab"):
            await run_in_threadpool(bench.file.drop_draft, _tab(given))
        if is_form:
            return RedirectResponse(f"/p/{request.path_params['id']}/rules", 303)
        return JSONResponse({"revision": kept.id, "at": kept.at, "author": kept.author}, 201)

    async def restore(self, request: Request) -> Response:
        """Make a new version of an old one."""
        fields = await read_form(request, self.access)
        bench = await self._bench(request)
        number = int(request.path_params["r"])
        base = fields.get("base", "")
        await run_in_threadpool(
            lambda: bench.restore(
                number,
                why=fields.get("why") or f"version {number} restored",
                base=_version_number(base),
                author=fields.get("author") or None,
            )
        )
        return RedirectResponse(f"/p/{request.path_params['id']}/history", 303)

    # Jobs

    async def start_job(self, request: Request) -> Response:
        """Start long work."""
        given = await read_json(request)
        bench = await self._bench(request)
        kind = _text(given, "kind")
        if kind not in KINDS:
            raise InvalidValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        options = _job_options(given)
        job = await run_in_threadpool(bench.start, kind, options)
        return JSONResponse({"job": job.id, "state": job.state}, 202)

    async def cancel_job(self, request: Request) -> Response:
        """Cancel long work, at once."""
        bench = await self._bench(request)
        number = int(request.path_params["j"])
        if await run_in_threadpool(bench.file.job, number) is None:
            raise HTTPException(404)
        job = await run_in_threadpool(bench.jobs.cancel, number)
        return JSONResponse({"job": job.id, "state": job.state})

    async def result(self, request: Request) -> Response:
        """Give what a job has found about the newest version."""
        bench = await self._bench(request)
        kind = request.path_params["kind"]
        if kind not in ("rules", "refined", "contrast", "preview", "outcome"):
            raise HTTPException(404)
        return JSONResponse(await run_in_threadpool(pages.result_facts, bench, kind))

    async def event_stream(self, request: Request) -> Response:
        """Tell a tab of jobs, versions and results as they come."""
        bench = await self._bench(request)
        last = request.headers.get("last-event-id") or request.query_params.get("last")
        stream = bench.events.stream(read_last_id(last))
        return StreamingResponse(stream, media_type="text/event-stream")

    # Cases

    async def what_if(self, request: Request) -> Response:
        """Say what the machine would predict with other values."""
        given = await read_json(request)
        values = given.get("values")
        if not isinstance(values, dict):
            raise InvalidValueError("values must be an object with a value for each feature")
        bench = await self._bench(request)
        row = int(request.path_params["row"])
        answer = await run_in_threadpool(lambda: what_if(bench.version(), row, values))
        return JSONResponse({**answer, "serial": given.get("serial")})

    async def note(self, request: Request) -> Response:
        """Keep a note on a case."""
        fields = await read_form(request, self.access)
        bench = await self._bench(request)
        row = int(request.path_params["row"])
        text = fields.get("text", "").strip()
        if not text:
            raise InvalidValueError("the note is empty")
        if len(text) > 10_000:
            raise InvalidValueError("a note has at most 10,000 characters")
        version = await run_in_threadpool(bench.version)
        version.opened.position(row)
        await run_in_threadpool(
            bench.file.add_note,
            version.revision.id,
            row,
            fields.get("author") or bench.author,
            text,
        )
        return RedirectResponse(f"/p/{request.path_params['id']}/cases/{row}", 303)

    async def exam(self, request: Request) -> Response:
        """Open the sealed sample; that is written into the history."""
        fields = await read_form(request, self.access)
        bench = await self._bench(request)
        await run_in_threadpool(bench.exam, fields.get("author") or None)
        return RedirectResponse(f"/p/{request.path_params['id']}/history#sealed", 303)

    # Export

    async def export(self, request: Request) -> Response:
        """Give a file to take away."""
        bench = await self._bench(request)
        form = request.path_params["form"]
        number = request.query_params.get("revision")
        asked = request.query_params.get("subject", "mine")
        made = await run_in_threadpool(
            _exported, bench, form, asked, _version_number(number) if number else None
        )
        content, media, name = made
        headers = {"Content-Disposition": attachment(name)}
        return Response(content, media_type=media, headers=headers)


def _checked(bench: Bench, text: str) -> dict[str, Any]:
    return {**bench.check(text), "now": pages.machine_now(bench.version())}


def _exported(bench: Bench, form: str, asked: str, number: int | None) -> tuple[bytes, str, str]:
    """Make a file to take away: its content, its type and its name, which holds nothing of the user's."""
    version = bench.version(number)
    stem = f"{bench.file.path.stem}-v{version.revision.id}"
    if form == "project":
        with writing_to("the copy"), tempfile.TemporaryDirectory() as place:
            copy = bench.file.save_copy(Path(place, "copy.clearmargin"))
            return copy.read_bytes(), "application/octet-stream", f"{stem}.clearmargin"
    if form == "report":
        report = bench.file.result(version.revision.id, "report")
        if report is None:
            raise HTTPException(404)
        return report["html"].encode("utf-8"), "text/html", f"{stem}.html"
    if form == "cases":
        return cases_csv(version), "text/csv", f"{stem}-cases.csv"
    if form == "model":
        text = json.dumps(trained(version).document, ensure_ascii=False, indent=1)
        return text.encode("utf-8"), "application/json", f"{stem}-model.json"
    if form not in FORMS:
        raise HTTPException(404)
    extracted = bench.file.result(version.revision.id, "rules")
    rules = subject(version, asked, extracted)
    return make_form(rules, form), FORMS[form].media, f"{stem}-{asked}.{FORMS[form].suffix}"


def _wants_page(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return "text/html" in accept


def _text(given: dict[str, Any], name: str, otherwise: str | None = None) -> str:
    value = given.get(name, otherwise)
    if not isinstance(value, str):
        raise InvalidValueError(f"{name} must be a text")
    return value


def _number(given: dict[str, Any], name: str) -> float:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError(f"{name} must be a number")
    return as_finite(value, name)


def _version_number(value: object) -> int | None:
    """Read the number of a version, from a form or from JSON; nothing where there is none yet."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValueError(f"the number of a version is a whole number, not {value!r}")
    return as_whole(value, "the number of a version")


def _job_options(given: dict[str, Any]) -> dict[str, Any]:
    """Read what a tab may say about a job; everything else comes from the project."""
    options: dict[str, Any] = {"serial": given.get("serial")}
    if given.get("text") is not None:
        options["text"] = check_size(given["text"])
    if given.get("settings") is not None:
        options["settings"] = MachineSettings.from_dict(given["settings"]).to_dict()
    for name, low, high in (("share", 0.001, 0.5), ("max_rules", 1, 200)):
        if given.get(name) is not None:
            number = _number(given, name)
            if not low <= number <= high:
                raise InvalidValueError(
                    f"{name} must lie between {low} and {high}, not be {number:g}"
                )
            options[name] = number
    for name in ("choose", "short", "assume_ranges"):
        value = given.get(name, False)
        if not isinstance(value, bool):
            raise InvalidValueError(f"{name} must be true or false, not {value!r}")
        options[name] = value
    return options


def _tab(given: dict[str, Any]) -> str:
    tab = _text(given, "tab")
    if not 1 <= len(tab) <= 64 or not tab.isalnum():
        raise InvalidValueError("tab must be a short name of letters and digits")
    return tab
