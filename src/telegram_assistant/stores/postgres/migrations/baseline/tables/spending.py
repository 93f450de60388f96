"""The costs of providers: budgets, reservations and the ledger."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table


def create() -> None:
    budget_reservations()
    budgets()
    usage()


def budget_reservations() -> None:
    op.execute(
        """
        CREATE TABLE budget_reservations (
            call_id uuid NOT NULL,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            month date NOT NULL,
            micro bigint NOT NULL,
            tokens bigint NOT NULL,
            work text NOT NULL,
            purpose text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            expires_at timestamptz NOT NULL,
            PRIMARY KEY (call_id, tenant_id)
        )
        """
    )
    op.execute("CREATE INDEX budget_reservations_expires ON budget_reservations (expires_at)")
    tenant_table(
        "budget_reservations",
        "Calls under way, with what each payer has set aside. One that expires counts as spent.",
        "SELECT",
    )


def budgets() -> None:
    op.execute(
        """
        CREATE TABLE budgets (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            money_micro bigint NOT NULL CHECK (money_micro >= 0),
            tokens bigint CHECK (tokens >= 0),
            month date NOT NULL,
            used_micro bigint NOT NULL DEFAULT 0,
            used_tokens bigint NOT NULL DEFAULT 0,
            updated_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor=70)
        """
    )
    tenant_table(
        "budgets",
        "What a tenant may spend on providers each month, and what this month has used; "
        "what is reserved counts as used.",
        "SELECT",
    )


def usage() -> None:
    """Tenants do not read what a whole call took, nor how many pay for it: both would tell them of others."""
    op.execute(
        """
        CREATE TABLE usage (
            at timestamptz NOT NULL DEFAULT now(),
            call_id uuid NOT NULL,
            tenant_id bigint NOT NULL,
            work text NOT NULL,
            purpose text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            status text NOT NULL,
            micro bigint NOT NULL,
            tokens bigint NOT NULL,
            call_sent_tokens bigint NOT NULL,
            call_received_tokens bigint NOT NULL,
            call_micro bigint NOT NULL,
            payers int NOT NULL,
            latency_ms int NOT NULL,
            PRIMARY KEY (tenant_id, at, call_id)
        ) PARTITION BY RANGE (at)
        """
    )
    op.execute("CREATE TABLE usage_rest PARTITION OF usage DEFAULT")
    tenant_table(
        "usage",
        "One row for each call and payer: the share of money and tokens, and what the whole call took.",
        "SELECT (at, call_id, tenant_id, work, purpose, provider, model, status, micro, tokens, latency_ms)",
    )
