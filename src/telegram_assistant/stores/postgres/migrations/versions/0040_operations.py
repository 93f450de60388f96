"""The operator's data: processes, the throughput of stages, and functions that count waiting entries."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    processes()
    stage_minutes()
    for name, (signature, body, callers) in FUNCTIONS.items():
        definer(name, signature, body, callers=callers)


def processes() -> None:
    op.execute(
        """
        CREATE TABLE processes (
            instance text PRIMARY KEY,
            roles text[] NOT NULL,
            version text NOT NULL,
            parts jsonb NOT NULL,
            samples jsonb NOT NULL,
            servers_away jsonb NOT NULL,
            started_at timestamptz NOT NULL DEFAULT now(),
            at timestamptz NOT NULL DEFAULT now(),
            stopped_at timestamptz
        )
        """
    )
    system_table("processes", "The last report of every process about itself.", system_may="SELECT, DELETE")
    op.execute("COMMENT ON COLUMN processes.parts IS 'Health reports by role and part.'")
    op.execute(
        "COMMENT ON COLUMN processes.samples IS 'Metrics as [name, labels, value], "
        "the same as on /metrics at that moment.'"
    )


def stage_minutes() -> None:
    op.execute(
        """
        CREATE TABLE stage_minutes (
            minute timestamptz NOT NULL,
            stage text NOT NULL,
            instance text NOT NULL,
            processed bigint NOT NULL,
            failed bigint NOT NULL,
            lag bigint NOT NULL,
            PRIMARY KEY (minute, stage, instance)
        )
        """
    )
    system_table("stage_minutes", "What each stage did in each minute of the last day, by process.")
    op.execute(
        "COMMENT ON COLUMN stage_minutes.lag IS 'The most entries that waited for the stage in this minute.'"
    )


FUNCTIONS = {
    "report_process": (
        (
            "(reporter text, its_roles text[], its_version text, its_parts jsonb, its_samples jsonb, "
            "away jsonb, is_last boolean) RETURNS void"
        ),
        """
        INSERT INTO processes AS p (instance, roles, version, parts, samples, servers_away, stopped_at)
        VALUES (reporter, its_roles, its_version, its_parts, its_samples, away, CASE WHEN is_last
            THEN now() END)
        ON CONFLICT (instance) DO UPDATE SET roles = excluded.roles, version = excluded.version,
            parts = excluded.parts,
            samples = excluded.samples, servers_away = excluded.servers_away, at = now(),
            stopped_at = excluded.stopped_at
        """,
        "tga_api",
    ),
    "operator_processes": (
        """
        () RETURNS TABLE(instance text, roles text[], version text, parts jsonb, samples jsonb,
            servers_away jsonb, started_at timestamptz, at timestamptz, stopped_at timestamptz,
            age_seconds double precision)
        """,
        """
        SELECT instance, roles, version, parts, samples, servers_away, started_at, at, stopped_at,
            extract(epoch FROM now() - at)::float8
        FROM processes WHERE at > now() - interval '1 hour' ORDER BY started_at, instance
        """,
        "tga_api",
    ),
    "operator_stage_minutes": (
        (
            "(since timestamptz) RETURNS TABLE(minute timestamptz, stage text, processed bigint, "
            "failed bigint, lag bigint)"
        ),
        """
        SELECT m.minute, m.stage, sum(m.processed)::bigint, sum(m.failed)::bigint, max(m.lag)
        FROM stage_minutes m WHERE m.minute >= since GROUP BY m.minute, m.stage ORDER BY m.minute, m.stage
        """,
        "tga_api",
    ),
    "operator_backlog": (
        "() RETURNS TABLE(queue text, kind text, entries bigint, oldest_at timestamptz)",
        """
        SELECT 'outbox', o.lane, count(*), min(o.created_at) FROM outbox o GROUP BY o.lane
        UNION ALL SELECT 'backfills', b.kind, count(*), min(b.created_at) FROM backfills b
            WHERE b.state = 'open' GROUP BY b.kind
        UNION ALL SELECT 'dead_letters', d.stage, count(*), min(d.created_at) FROM dead_letters d
            GROUP BY d.stage
        UNION ALL SELECT 'parked', 'channels', count(*), NULL FROM channels c WHERE c.parked_until IS NOT NULL
            HAVING count(*) > 0
        ORDER BY 1, 2
        """,
        "tga_api, tga_system",
    ),
    "operator_job_runs": (
        (
            "() RETURNS TABLE(job text, period_start timestamptz, instance text, started_at timestamptz, "
            "finished_at timestamptz, error text)"
        ),
        """
        SELECT DISTINCT ON (r.job) r.job, r.period_start, r.instance, r.started_at, r.finished_at, r.error
        FROM job_runs r ORDER BY r.job, r.period_start DESC
        """,
        "tga_api",
    ),
    "operator_parked_channels": (
        (
            "(most integer) RETURNS TABLE(channel_id bigint, title text, reason text, until timestamptz, "
            "failures integer)"
        ),
        """
        SELECT c.channel_id, c.title, c.parked_reason, c.parked_until, s.fail_count
        FROM channels c JOIN poll_schedule s USING (channel_id) WHERE c.parked_until IS NOT NULL
        ORDER BY c.parked_until, c.channel_id LIMIT most
        """,
        "tga_api",
    ),
}
"""Callable without any right on a table. All but `report_process` only read."""


def definer(name: str, signature: str, body: str, *, callers: str) -> None:
    rights = "SECURITY DEFINER SET search_path TO 'public', 'pg_temp'"
    op.execute(
        f"CREATE FUNCTION {name}{signature} LANGUAGE sql VOLATILE {rights} AS $function${body}$function$"
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {callers}")
