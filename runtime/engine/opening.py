"""The composition root: ports and settings become a running engine."""

import logging
import os
import platform
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from typing import Literal

import trio

from actors.errors.message import EngineLoopError, MessageFieldError
from actors.ports.model import Model
from actors.ports.store import EventStore
from actors.ports.tool import Tool
from actors.ports.world import Clock, IdSource
from actors.rules.policy import Policy
from actors.session.agent import Agent, AgentBook, Fallback
from actors.session.limits import Limits
from actors.session.remembered import Remember, Remembered
from actors.session.services import Services
from actors.session.stage import open_stage
from runtime.engine.answering import OnAsk, Report, answer_asks
from runtime.engine.engine import Engine
from runtime.engine.resuming import resume_unsettled
from runtime.models.catalogue import price_of
from runtime.models.governed import Governors
from runtime.models.naming import open_model, window_of
from runtime.stores.open import open_store
from runtime.world import SystemClock, SystemIds

RELEASE_S = 5.0
"""How long giving the store up may take when everything else is cancelled."""
ASK = Policy()
"""Reads pass, everything else is asked about."""
NEVER = Policy(asks="never")
"""Reads pass, what would have to be asked about is refused."""


def _log(where: str, error: Exception) -> None:
    """Report to the log ``greenroom``; without a handler Python writes that to stderr."""
    logging.getLogger("greenroom").error("%s: %s: %s", where, type(error).__name__, error)


@asynccontextmanager
async def open_engine(  # noqa: PLR0913 - one keyword each for what an embedder may bring
    store: str | EventStore = ":memory:",
    *,
    agents: Sequence[Agent] = (),
    model: Model | str | None = None,
    fallbacks: Sequence[Model | str] = (),
    tools: Sequence[Tool] = (),
    system: str | None = None,
    policy: Policy = ASK,
    on_ask: OnAsk | None = None,
    remember: Remember | None = None,
    limits: Limits | None = None,
    recovery: Literal["close", "resume"] = "close",
    clock: Clock | None = None,
    ids: IdSource | None = None,
    take_over: bool = False,
    report: Report = _log,
) -> AsyncIterator[Engine]:
    """Open an engine on a store; it owns everything that runs in it.

    Args:
        store: ``":memory:"``, a path, ``"sqlite:///path"``, ``"postgresql://user@host/database"``, or a
            store that is open already.
        agents: further agents by name, beside the one that the next four arguments describe.
        model: who answers in sessions of the agent ``default``: a model, or the name of one, such as
            ``"openai/gpt-5"`` (see :func:`runtime.models.naming.open_model`).
        fallbacks: who answers instead, in this order, for the rest of a turn whose model has failed for good;
            the log names who answered.
        tools: what it may ask for.
        system: its prompt.
        policy: what its calls are judged by.
        on_ask: called with each ask, in a task of its own; returns the answer, or None to leave it.
        remember: called with each policy entry that an answer ``always`` adds, to write it where the next
            engine finds it; without it the entry holds while this engine runs.
        limits: the bounds of the engine.
        recovery: what is done about turns that a crash cut off: ``close`` ends them as interrupted when
            their session is next used; ``resume`` goes on with them at once, from the last committed step,
            and puts an ask whose call had not started again, under the same id.
        clock: the time of day.
        ids: where ids and chance come from.
        take_over: take the store from a live owner, which can then write no more.
        report: told where an error was contained (a crashed actor, a failing ``on_ask``); must not raise.
            When it is not given, the log ``greenroom`` of the standard library is told.

    Raises:
        EngineLoopError: trio does not run here.
        MessageFieldError: an argument cannot be meant; the text says what can.
        StoreOwnedError: another process owns the store; the text names it.
        StoreSpecError, SchemaTooNewError, SchemaUnrecognizedError: the store cannot be opened.
        ModelNameError, ModelExtraError, ModelKeyError: the model cannot be opened by its name.

    Cancellation:
        Leaving the block, by any way, ends running turns as ``aborted`` with the cause ``disposed``, writes
        their ends, and gives the store up; bounded.
    """
    _check_loop()
    _check(recovery, policy, limits)
    _check_model(model)
    _check_tools(tools)
    bounds = limits or Limits()
    governors = Governors(bounds.rates)
    async with (
        _opened(model, governors) as answering,
        _fallen_back(fallbacks, governors) as others,
        open_store(store) as opened,
    ):
        default = _default_agent(answering, others, tools=tools, system=system, policy=policy)
        epoch = await opened.claim(_owner(), take_over=take_over)
        services = Services(
            store=opened,
            epoch=epoch,
            clock=clock or SystemClock(),
            ids=ids or SystemIds(),
            agents=AgentBook([default, *agents]),
            limits=bounds,
            recovery=recovery,
            remembered=Remembered(remember),
        )
        try:
            async with _unwrapped(_running(services, on_ask, report)) as engine:
                yield engine
        finally:
            with trio.move_on_after(RELEASE_S, shield=True):
                await opened.release(epoch)


def _default_agent(
    model: Model | None,
    fallbacks: tuple[Fallback, ...],
    *,
    tools: Sequence[Tool],
    system: str | None,
    policy: Policy,
) -> Agent:
    """Return the agent of sessions that name none."""
    return Agent(
        model=model,
        tools=tools,
        system=system,
        policy=policy,
        context_window=window_of(model.name) if model is not None else None,
        fallbacks=fallbacks,
        price=price_of,
    )


def _opened(
    model: Model | str | None, governors: Governors
) -> AbstractAsyncContextManager[Model | None]:
    """A model that was named is the engine's own; one that was given stays its owner's."""
    return open_model(model, governors) if isinstance(model, str) else nullcontext(model)


@asynccontextmanager
async def _fallen_back(
    models: Sequence[Model | str], governors: Governors
) -> AsyncIterator[tuple[Fallback, ...]]:
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(_opened(one, governors)) for one in models]
        yield tuple(Fallback(one, window_of(one.name)) for one in opened if one is not None)


@asynccontextmanager
async def _running(
    services: Services, on_ask: OnAsk | None, report: Report
) -> AsyncIterator[Engine]:
    async with trio.open_nursery() as watchers:
        async with open_stage(services, report=report) as stage:
            await stage.uploads.sweep()
            if on_ask is not None:
                await watchers.start(answer_asks, services.asks, on_ask, report)
            if services.recovery == "resume":
                watchers.start_soon(resume_unsettled, stage, report)
            yield Engine(stage)
        watchers.cancel_scope.cancel()  # not earlier: its scope holds the drain too


@asynccontextmanager
async def _unwrapped(running: AbstractAsyncContextManager[Engine]) -> AsyncIterator[Engine]:
    """Let what the block itself raises leave it as it was raised: the nurseries around it are ours."""
    body_error: BaseException | None = None
    try:
        async with running as engine:
            try:
                yield engine
            except BaseException as error:
                body_error = error
                raise
    except BaseExceptionGroup as group:
        if body_error is not None and _only(group) is body_error:
            raise body_error from None
        raise


def _check(recovery: object, policy: object, limits: object) -> None:
    """Refuse what cannot be meant, before anything is opened."""
    if recovery not in {"close", "resume"}:
        raise MessageFieldError("open_engine", "recovery", recovery, "'close' or 'resume'")
    if not isinstance(policy, Policy):
        raise MessageFieldError("open_engine", "policy", policy, "a Policy, such as ASK or NEVER")
    if limits is not None and not isinstance(limits, Limits):
        raise MessageFieldError("open_engine", "limits", limits, "Limits(...)")


def _check_loop() -> None:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        raise EngineLoopError from None


def _check_model(model: object) -> None:
    if isinstance(model, str) or model is None:
        return
    if not all(hasattr(model, name) for name in ("name", "stream")):
        wanted = "a name such as 'openai/NAME', or an object with the name and stream of a Model"
        raise MessageFieldError("open_engine", "model", model, wanted)


def _check_tools(tools: object) -> None:
    if not isinstance(tools, Iterable):
        raise MessageFieldError("open_engine", "tools", tools, "a list of tools")


def _only(error: BaseException) -> BaseException:
    """Return what a group of one, of one, ... holds in the end."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _owner() -> str:
    """Name this process for whoever finds the store owned."""
    return f"process {os.getpid()} on {platform.node()}"
