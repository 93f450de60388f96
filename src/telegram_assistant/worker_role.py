"""The worker role: every stage of the pipeline, the relay that feeds them, the watch over both, and what a provider shall do later."""

from collections.abc import Sequence
from functools import partial

from telegram_assistant.assembly import App
from telegram_assistant.domain.branch import MAX_BRANCHES, Branch
from telegram_assistant.errors import CannotStart
from telegram_assistant.features.operations.graph_upkeep import keep_graph
from telegram_assistant.features.operations.vector_upkeep import keep_vectors, report_vectors
from telegram_assistant.pipeline import ENDS, stages_of
from telegram_assistant.settings import EmbeddingSource
from telegram_assistant.streams.coalescing import Coalescer
from telegram_assistant.streams.monitoring import watch
from telegram_assistant.streams.notices import NoticeRelay
from telegram_assistant.streams.relay import Relay
from telegram_assistant.streams.runner import Options, Runner
from telegram_assistant.streams.stage import AnyStage, bind
from telegram_assistant.supervision import Loop
from telegram_assistant.telemetry.health import Health
from telegram_assistant.understanding.improvements import better_sights, better_tags, better_vectors
from telegram_assistant.understanding.improving import improving


def loops(app: App, health: Health) -> tuple[Loop, ...]:
    """What the worker runs; CannotStart where a stage needs what the App does not have."""
    improvements = (better_tags(app.tagger), better_sights(app.looker), better_vectors(app.gate, app.system.post_states))
    later = improving(wanted=app.system.provider_wanted, posts=app.system.posts, improvements=improvements)
    stages = loops_of(stages_of(app.settings), ENDS, app, health, Options(partitions=app.settings.streams.partitions))
    return (*stages, later, *vectors_loops(app, health), graph_loop(app, health))


def vectors_loops(app: App, health: Health) -> tuple[Loop, Loop]:
    """Rebuilds of vectors, those too that nobody asked for but that cost nothing, and how they are."""
    model = app.settings.ai.embeddings_model_in_force
    system = app.system
    keep = partial(
        keep_vectors,
        index=app.index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        model=model,
        owner=app.instance,
        fills=app.settings.ai.embeddings is EmbeddingSource.LOCAL,
    )
    report = partial(report_vectors, index=app.index, rebuilds=system.rebuilds, model=model, health=health)
    return Loop("vectors", keep), Loop("vectors_health", report)


def graph_loop(app: App, health: Health) -> Loop:
    """Rebuilds of the graph, those too that nobody asked for but that are needed, and how it is."""
    system = app.system
    run = partial(
        keep_graph,
        index=app.graph_index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        outbox=system.outbox,
        owner=app.instance,
        health=health,
    )
    return Loop("graph", run)


def loops_of(stages: Sequence[AnyStage], ends: Sequence[AnyStage], app: App, health: Health, options: Options) -> tuple[Loop, ...]:
    """The same for any pipeline."""
    partitions = options.partitions
    branches = branches_of(stages, ends)
    runners = [runner_of(stage, branches.get(stage.name), app, health, options) for stage in stages]
    hurried = [stage for stage in stages if not stage.may_lag]
    relays = (*relay_of(hurried, app, health).loops(), notices_of(hurried, app, health).loop())
    return (*(runner.loop() for runner in runners), *relays, watch(app.redis, stages, partitions, health))


def runner_of(stage: AnyStage, branch: Branch | None, app: App, health: Health, options: Options) -> Runner:
    """One stage at work; a post that has passed all ends of the pipeline leaves the outbox."""
    return Runner(
        stage,
        bind(stage, app.collaborators),
        redis=app.redis,
        dead_letters=app.system.dead_letters,
        instance=app.instance,
        health=health,
        options=options,
        finished=Coalescer(partial(app.system.outbox.done, branch=branch)) if branch else None,
    )


def branches_of(stages: Sequence[AnyStage], ends: Sequence[AnyStage]) -> dict[str, Branch]:
    """The branch that ends with each of these stages, by the stage's name. CannotStart when posts could never pass all of them."""
    names = [end.name for end in ends]
    missing = set(names) - {stage.name for stage in stages}
    if missing or len(set(names)) != len(names) or not 0 < len(names) <= MAX_BRANCHES:
        why = f"the pipeline cannot end with {', '.join(names) or 'nothing'}"
        raise CannotStart(why, remedy=f"Name 1 to {MAX_BRANCHES} different stages of the pipeline in ENDS (pipeline.py)")
    return {name: Branch.at(position, count=len(names)) for position, name in enumerate(names)}


def relay_of(stages: Sequence[AnyStage], app: App, health: Health) -> Relay:
    """The relay that feeds these stages."""
    streams = app.settings.streams
    return Relay(app.system.outbox, stages, redis=app.redis, health=health, partitions=streams.partitions, max_entries=streams.max_entries)


def notices_of(stages: Sequence[AnyStage], app: App, health: Health) -> NoticeRelay:
    """The relay of all other events that begin in PostgreSQL."""
    streams = app.settings.streams
    return NoticeRelay(app.system.notices, stages, redis=app.redis, health=health, partitions=streams.partitions, max_entries=streams.max_entries)
