"""The background jobs of an engine: kinds with limits, and jobs that end once.

Source: L-167, L-168.
"""

from collections.abc import Mapping
from math import inf, isfinite
from typing import Final, Literal, TypeAlias

import attrs

from actors.errors.control import JobDefinitionError, JobKindError, JobLimitError

FINISHED_KEPT: Final = 256

JobWord: TypeAlias = Literal["running", "stopping", "completed", "killed", "failed"]
EndWord: TypeAlias = Literal["completed", "killed", "failed"]


@attrs.frozen(kw_only=True)
class Job:
    """One job; ``owner`` is whoever's end ends it."""

    id: str
    kind: str
    label: str
    owner: str
    word: JobWord = "running"

    @property
    def live(self) -> bool:
        """Whether it still runs."""
        return self.word in {"running", "stopping"}


@attrs.frozen(kw_only=True)
class JobTable:
    """All kinds and jobs. Live jobs come first, then finished ones; each group in the order of its ids."""

    limits: Mapping[str, float] = attrs.field(factory=dict)
    jobs: Mapping[str, Job] = attrs.field(factory=dict)
    next_number: int = 1

    def with_kind(self, kind: str, limit: float = inf) -> "JobTable":
        """Return the table with one more kind; the first registrant of a kind keeps its limit.

        Raises:
            JobDefinitionError: the limit is negative or no number (infinity means no limit).
        """
        if limit != inf and (not isfinite(limit) or limit < 0):
            raise JobDefinitionError(kind, limit)
        return (
            self if kind in self.limits else attrs.evolve(self, limits={**self.limits, kind: limit})
        )

    def registered(self, kind: str, label: str, owner: str) -> tuple["JobTable", Job]:
        """Return the table with one more running job.

        Raises:
            JobKindError: the kind is not registered.
            JobLimitError: as many of the kind are live as may be; stopping ones count.
        """
        if kind not in self.limits:
            raise JobKindError(kind)
        if sum(j.live for j in self.jobs.values() if j.kind == kind) >= self.limits[kind]:
            raise JobLimitError(kind, self.limits[kind])
        job = Job(id=f"job-{self.next_number}", kind=kind, label=label, owner=owner)
        return attrs.evolve(self._with(job), next_number=self.next_number + 1), job

    def stopping(self, job_id: str) -> tuple["JobTable", bool]:
        """Return the table after a request to stop, and whether the job must be told: once, while it runs."""
        job = self.jobs.get(job_id)
        if job is None or job.word != "running":
            return self, False
        return self._with(attrs.evolve(job, word="stopping")), True

    def settled(self, job_id: str, word: EndWord) -> tuple["JobTable", bool]:
        """Return the table after a job's end; the first end wins, a later one changes nothing."""
        job = self.jobs.get(job_id)
        if job is None or not job.live:
            return self, False
        return attrs.evolve(
            self, jobs=_pruned({**self.jobs, job_id: attrs.evolve(job, word=word)})
        ), True

    def of(self, owner: str) -> tuple[Job, ...]:
        """Return the live jobs of an owner, which end with it: each is told to stop, and settled as killed."""
        return tuple(job for job in self.jobs.values() if job.live and job.owner == owner)

    def listed(self) -> tuple[Job, ...]:
        """Return all jobs, live ones first."""
        return tuple(sorted(self.jobs.values(), key=lambda job: not job.live))

    def _with(self, job: Job) -> "JobTable":
        return attrs.evolve(self, jobs={**self.jobs, job.id: job})


def _pruned(jobs: dict[str, Job]) -> dict[str, Job]:
    """Forget the oldest finished jobs beyond what is kept."""
    finished = [job.id for job in jobs.values() if not job.live]
    gone = set(finished[:-FINISHED_KEPT])
    return {job_id: job for job_id, job in jobs.items() if job_id not in gone}
