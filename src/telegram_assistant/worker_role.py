"""The worker role: every stage of the pipeline, the relays that feed them, their monitoring,
and work left for a provider.
"""

from collections.abc import Sequence
from functools import partial

from telegram_assistant.assembly import App
from telegram_assistant.domain.branch import MAX_BRANCHES, Branch
from telegram_assistant.errors import CannotStart
from telegram_assistant.features.operations.graph_upkeep import keep_graph
from telegram_assistant.features.operations.throughput import CountedMinutes, keep_throughput
from telegram_assistant.features.operations.vector_upkeep import keep_vectors, report_vectors
from telegram_assistant.features.receivers.sending import keep_sending
from telegram_assistant.features.watches.fanouts import keep_fanning_out
from telegram_assistant.features.watches.held_posts import (
    HELD_SECONDS,
    LOOK_SECONDS,
    HeldBranches,
    keep_releasing,
)
from telegram_assistant.pipeline import ENDS, stages_of
from telegram_assistant.reasons import Reason
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.stories import stories
from telegram_assistant.streams.coalescing import Coalescer
from telegram_assistant.streams.monitoring import monitoring_loop
from telegram_assistant.streams.notices import NoticeRelay
from telegram_assistant.streams.relay import Relay
from telegram_assistant.streams.runner import Options, Runner
from telegram_assistant.streams.stage import AnyStage, bind
from telegram_assistant.supervision import Loop
from telegram_assistant.telemetry.health import Health
from telegram_assistant.understanding.improvements import better_tags, better_vectors, better_vision_results
from telegram_assistant.understanding.improving import improving
from telegram_assistant.work_kinds import build_worker


def loops(app: App, health: Health) -> tuple[Loop, ...]:
    """Build the worker's loops. Raises CannotStart if the App lacks what a stage needs."""
    improvements = (
        better_tags(app.tagger),
        better_vision_results(app.picture_analyzer),
        better_vectors(app.gate, app.system.post_states),
    )
    improvement_loop = improving(
        wanted_results=app.system.provider_wanted, posts=app.system.posts, improvements=improvements
    )
    stages = build_loops(
        stages_of(app.settings), ENDS, app, health, Options(partitions=app.settings.streams.partitions)
    )
    upkeep = (*vectors_loops(app, health), graph_loop(app, health), throughput_loop(app))
    return (
        *stages,
        held_posts_loop(app, health, stages_of(app.settings), ENDS),
        fanouts_loop(app),
        Loop("reading of pictures", app.gate.read_pictures_until),
        improvement_loop,
        *upkeep,
        sending_loop(app),
        due_work_loop(app, health),
    )


def throughput_loop(app: App) -> Loop:
    """Build the loop that writes what the stages do per minute."""
    counted_minutes = CountedMinutes([stage.name for stage in stages_of(app.settings)])
    run = partial(
        keep_throughput,
        counted_minutes=counted_minutes,
        minutes=app.system.stage_minutes,
        backlog=app.system.backlog,
        instance=app.instance,
    )
    return Loop("throughput", run)


def sending_loop(app: App) -> Loop:
    """Build the loop that delivers alerts."""
    return Loop("alert_delivery", partial(keep_sending, sender=app.sender))


def fanouts_loop(app: App) -> Loop:
    """Build the loop that writes the alerts of posts that very many watches ask for."""
    return Loop("alert_fanouts", partial(keep_fanning_out, matching=app.system.watch_matching))


def due_work_loop(app: App, health: Health) -> Loop:
    """Build the loop that does what periodic jobs enqueue."""
    return Loop("due work", build_worker(app, health).keep_working)


def held_posts_loop(
    app: App,
    health: Health,
    stages: Sequence[AnyStage],
    ends: Sequence[AnyStage],
    *,
    held_seconds: float = HELD_SECONDS,
    look_seconds: float = LOOK_SECONDS,
) -> Loop:
    """Build the loop that lets alerts go on when stories are not grouped."""
    branches = branches_of(stages, ends)
    held_branches = HeldBranches(
        ended=branches[indexing.name], held_by=branches[stories.name], waiting=branches[alerts.name]
    )
    run = partial(
        keep_releasing,
        outbox=app.system.outbox,
        branches=held_branches,
        health=health,
        held_seconds=held_seconds,
        look_seconds=look_seconds,
    )
    return Loop("held posts", run)


def vectors_loops(app: App, health: Health) -> tuple[Loop, Loop]:
    """Build the loops that rebuild vectors, also on their own initiative if that costs nothing,
    and report their health.
    """
    model = app.settings.ai.embeddings_model_in_force
    system = app.system
    keep = partial(
        keep_vectors,
        index=app.index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        model=model,
        owner=app.instance,
        fills_gaps=app.settings.local_vectors_model is not None,
    )
    report = partial(report_vectors, index=app.index, rebuilds=system.rebuilds, model=model, health=health)
    return Loop("vectors", keep), Loop("vectors_health", report)


def graph_loop(app: App, health: Health) -> Loop:
    """Build the loop that rebuilds the graph, also on its own initiative if that is needed,
    and reports its health.
    """
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


def build_loops(
    stages: Sequence[AnyStage], ends: Sequence[AnyStage], app: App, health: Health, options: Options
) -> tuple[Loop, ...]:
    """Build the loops for any pipeline."""
    partition_count = options.partitions
    branches = branches_of(stages, ends)
    runners = [build_runner(stage, branches.get(stage.name), app, health, options) for stage in stages]
    must_keep_up = [stage for stage in stages if not stage.may_lag]
    relays = (
        *build_relay(must_keep_up, app, health).loops(),
        build_notice_relay(must_keep_up, app, health).loop(),
    )
    return (
        *(runner.loop() for runner in runners),
        *relays,
        monitoring_loop(app.redis, stages, partition_count, health),
    )


def build_runner(
    stage: AnyStage, branch: Branch | None, app: App, health: Health, options: Options
) -> Runner:
    """Build the runner of one stage. A post leaves the outbox when it has passed all ends of the pipeline."""
    return Runner(
        stage,
        bind(stage, app.collaborators),
        redis=app.redis,
        dead_letters=app.system.dead_letters,
        instance=app.instance,
        health=health,
        options=options,
        finished=Coalescer(partial(app.system.outbox.mark_finished, branch=branch)) if branch else None,
    )


def branches_of(stages: Sequence[AnyStage], ends: Sequence[AnyStage]) -> dict[str, Branch]:
    """Return the branch that ends with each of these stages, by stage name.

    Raises CannotStart if posts could never pass all of them.
    """
    names = [end.name for end in ends]
    missing_names = set(names) - {stage.name for stage in stages}
    if missing_names or len(set(names)) != len(names) or not 0 < len(names) <= MAX_BRANCHES:
        raise CannotStart(
            Reason(
                "pipeline_ends_wrong", "the pipeline cannot end with {stages}", stages=", ".join(names) or "–"
            ),
            remedy=Reason(
                "correct_pipeline_ends",
                "Name 1 to {max_stages} different stages of the pipeline in ENDS (pipeline.py)",
                max_stages=MAX_BRANCHES,
            ),
        )
    return {name: Branch.at(name_index, count=len(names)) for name_index, name in enumerate(names)}


def build_relay(stages: Sequence[AnyStage], app: App, health: Health) -> Relay:
    """Build the relay that feeds these stages."""
    streams = app.settings.streams
    return Relay(
        app.system.outbox,
        stages,
        redis=app.redis,
        health=health,
        partitions=streams.partitions,
        max_entries=streams.max_entries,
    )


def build_notice_relay(stages: Sequence[AnyStage], app: App, health: Health) -> NoticeRelay:
    """Build the relay for all other events that begin in PostgreSQL."""
    streams = app.settings.streams
    return NoticeRelay(
        app.system.notices,
        stages,
        redis=app.redis,
        health=health,
        partitions=streams.partitions,
        max_entries=streams.max_entries,
    )
