"""Channels of one owner: which network a channel is in, as far as the tenant's posts show it."""

from alembic import op

revision = "0064"
down_revision = "0063"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN network bigint")
    op.execute(
        "COMMENT ON COLUMN subscriptions.network IS 'The channel that names the network of this one, learnt "
        "from the posts that the tenant sees; none where it stands alone.'"
    )
    op.execute("GRANT UPDATE (network) ON subscriptions TO tga_tenant")
