"""Jobs: long work of a project, each in a process of its own, with a row in the project file that says how it goes.

A job waits, runs, and is then done, failed, cancelled (by somebody) or stopped (by the end of the server). One thread
of the server a running job reads what its process says. Whoever settles the end of a job first, that thread, `cancel`
or `close`, writes it; the others find it settled. Processes are in `job_process.py`.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import ClearmarginError, InvalidValueError
from clearmargin.workbench.job_process import (
    JobProcess,
    JobProcesses,
    describe_death,
    describe_error,
    find_place,
)

if TYPE_CHECKING:
    from clearmargin.workbench.events import Events
    from clearmargin.workbench.project_file import ProjectFile, StoredJob

_LOG = logging.getLogger("clearmargin.workbench")
# Seconds between two writings of progress to the file.
_PAUSE = 0.5
# Seconds: how long `cancel` waits for a process that it has killed, and `close` for everything.
_CANCEL, _CLOSE = 1.0, 10.0

OnDone = Callable[["StoredJob", dict[str, Any]], None]


class _Run:
    """A job that has not ended."""

    def __init__(self, job: StoredJob, on_done: OnDone | None):
        self.job, self.on_done = job, on_done
        self.process: JobProcess | None = None
        self.thread: threading.Thread | None = None
        # Whether it is decided how the job ends; nothing is written or told of its progress after that.
        self.is_settled = False
        self.written_at = -_PAUSE
        self.ended = threading.Event()


class Jobs:
    """The jobs of one project."""

    def __init__(
        self,
        file: ProjectFile,
        events: Events,
        *,
        limit: int = 2,
        function: str = "clearmargin.workbench.work:run",
        method: str | None = None,
    ):
        if limit < 1:
            raise InvalidValueError(f"at least one job has to run at once, not {limit}")
        self._file, self._events, self._limit = file, events, limit
        self._processes = JobProcesses(function, method)
        self._runs: dict[int, _Run] = {}
        self._waiting: deque[_Run] = deque()
        self._threads: set[threading.Thread] = set()
        self._n_running = 0
        self._is_closed = False
        self._lock = threading.RLock()
        # Registered after that of multiprocessing, so called before it, which would wait for all processes to end.
        atexit.register(self.close)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def start(
        self,
        kind: str,
        input: dict[str, Any],  # noqa: A002  # the word of the project file for it
        on_done: OnDone | None = None,
    ) -> StoredJob:
        """Start a job, or let it wait for others to end; return at once."""
        with self._lock:
            if self._is_closed:
                raise InvalidValueError("the project is being closed; no job can be started")
            job = self._file.add_job(kind, input)
            run = _Run(job, on_done)
            self._runs[job.id] = run
            self._waiting.append(run)
            self._tell(job)
            self._start_waiting()
        return job

    def cancel(self, id: int) -> StoredJob:  # noqa: A002  # as in the project file
        """Cancel a job: kill its process, or take it out of the queue."""
        with self._lock:
            run = self._runs.get(id)
            if run is None:
                return self._read(id)
            is_starting = run.process is None
            is_first = not run.is_settled
            if is_first:
                self._end_early(run, "cancelled")
        # A process that is still being started is killed by the thread that starts it.
        if run.thread is not threading.current_thread() and not (is_first and is_starting):
            run.ended.wait(_CANCEL)
        return self._read(id)

    def wait(self, id: int, timeout: float | None = None) -> StoredJob:  # noqa: A002
        """Wait for the end of a job."""
        run = self._runs.get(id)
        if run is not None:
            run.ended.wait(timeout)
        return self._read(id)

    def close(self) -> None:
        """Kill all processes and write what has not ended as stopped; no job can be started any more."""
        atexit.unregister(self.close)
        with self._lock:
            self._is_closed = True
            early = [run for run in self._runs.values() if not run.is_settled]
            # First all processes, then the writing: nothing is to go on while a disk is slow.
            for run in early:
                if run.process is not None:
                    run.process.kill()
            for run in early:
                self._end_early(run, "stopped")
        until = time.monotonic() + _CLOSE
        for thread in self._threads - {threading.current_thread()}:
            thread.join(max(until - time.monotonic(), 0.0))
        self._processes.close()

    def _read(self, number: int) -> StoredJob:
        job = self._file.job(number)
        if job is None:
            raise InvalidValueError(f"there is no job {number} in this project")
        return job

    def _start_waiting(self) -> None:
        while self._waiting and self._n_running < self._limit and not self._is_closed:
            run = self._waiting.popleft()
            self._n_running += 1
            run.thread = threading.Thread(
                target=self._work, args=(run,), name=f"job {run.job.id}", daemon=True
            )
            self._threads.add(run.thread)
            run.thread.start()

    def _end_early(self, run: _Run, state: str) -> None:
        run.is_settled = True
        if run.process is not None:
            run.process.kill()
        self._write_end(run, state=state)
        if run in self._waiting:
            self._waiting.remove(run)
            self._forget(run)

    def _forget(self, run: _Run) -> None:
        self._runs.pop(run.job.id, None)
        run.ended.set()

    # What follows runs in the thread of a job.

    def _work(self, run: _Run) -> None:
        try:
            self._work_in_process(run)
        finally:
            with self._lock:
                self._n_running -= 1
                self._forget(run)
                self._start_waiting()
            # Nobody has to wait for that but `close`.
            if run.process is not None:
                run.process.clean()
            self._threads.discard(threading.current_thread())

    def _work_in_process(self, run: _Run) -> None:
        try:
            process = self._processes.take()
        except Exception as error:
            self._conclude(run, {"error": f"no process can be started for this job: {error}"})
            return
        outcome: dict[str, Any] | None = None
        try:
            if self._begin(run, process):
                outcome = self._listen(run, process)
        finally:
            # Nobody has to wait for a process that has answered to clean up and leave; only its place is not free yet.
            if outcome is not None:
                self._conclude(run, outcome)
                self._forget(run)
            code = process.end()
        if outcome is None:
            self._conclude(run, {"error": describe_death(code)})

    def _begin(self, run: _Run, process: JobProcess) -> bool:
        """Give the order, unless the job was cancelled while its process was being started."""
        with self._lock:
            run.process = process
            if run.is_settled:
                process.kill()
                return False
        process.order(run.job.kind, run.job.input)
        with self._lock:
            if not run.is_settled:
                self._write(run, state="running")
                self._tell(run.job)
        self._processes.prepare()
        return True

    def _listen(self, run: _Run, process: JobProcess) -> dict[str, Any] | None:
        """Pass on what the process says; return its outcome, if it came to one."""
        for message in process.messages():
            if "progress" not in message:
                return message
            self._advance(run, message["progress"], message["message"])
        return None

    def _advance(self, run: _Run, progress: float, message: str) -> None:
        with self._lock:
            if run.is_settled:
                return
            run.job = replace(run.job, progress=progress, message=message)
            self._tell(run.job)
            now = time.monotonic()
            if now - run.written_at >= _PAUSE:
                run.written_at = now
                self._write(run, progress=progress, message=message)

    def _conclude(self, run: _Run, outcome: dict[str, Any]) -> None:
        with self._lock:
            if run.is_settled:
                return
            run.is_settled = True
        error = outcome.get("error")
        if error is None:
            error = self._hand_over(run, outcome["answer"])
        elif "place" in outcome:
            _LOG.error("job %d (%s) failed: %s", run.job.id, run.job.kind, outcome["place"])
        if error is None:
            self._write_end(run, state="done", progress=1.0, message="")
        else:
            self._write_end(run, state="failed", error=error)

    def _hand_over(self, run: _Run, answer: dict[str, Any]) -> str | None:
        """Call who waits for the answer; return what went wrong."""
        try:
            if run.on_done is not None:
                run.on_done(run.job, answer)
        except ClearmarginError as error:
            return describe_error(error)
        except Exception as error:
            _LOG.error(
                "the answer of job %d (%s) was not taken: %s",
                run.job.id,
                run.job.kind,
                find_place(error),
            )
            return describe_error(error)
        return None

    def _write(self, run: _Run, **changed: Any) -> None:
        """Write how a job goes; a file that cannot be written stops no work."""
        try:
            run.job = self._file.update_job(run.job.id, **changed)
        except Exception as error:
            _LOG.error("job %d (%s) cannot be written: %s", run.job.id, run.job.kind, error)
            run.job = replace(run.job, **changed)

    def _write_end(self, run: _Run, **changed: Any) -> None:
        """Write the end of a job, and tell of it; only by who has settled it."""
        # Of its progress more was told than written.
        last = {"progress": run.job.progress, "message": run.job.message}
        try:
            run.job = self._file.update_job(run.job.id, **{**last, **changed})
        except Exception as error:
            reason = f"the end of this job ({changed['state']}) cannot be written: {error}"
            _LOG.error("job %d (%s): %s", run.job.id, run.job.kind, reason)
            run.job = replace(run.job, state="failed", error=reason)
        self._tell(run.job)

    def _tell(self, job: StoredJob) -> None:
        body = {
            "id": job.id,
            "kind": job.kind,
            "state": job.state,
            "progress": job.progress,
            "message": job.message,
            "error": job.error,
        }
        self._events.publish("job", body, replaces=f"job {job.id}")
