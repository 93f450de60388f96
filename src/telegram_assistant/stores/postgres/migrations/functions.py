"""Functions that run with their owner's rights, for tenants to call."""

from alembic import op


def definer(name: str, parameters: str, returns: str, body: str, *, volatility: str = "STABLE") -> None:
    """Create a function that tenants may call. It sees every tenant, so its body names the tenant itself."""
    op.execute(
        f"""
        CREATE FUNCTION {name}({parameters}) RETURNS {returns}
        LANGUAGE sql {volatility} SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$ {body} $$
        """
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO tga_tenant")
