from dataclasses import dataclass

import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.database import Pool, SystemTransactions, TenantTransactions
from telegram_assistant.stores.postgres.stores import build_stores
from telegram_assistant.stores.postgres.tenants.tenants import Tenants


@dataclass(frozen=True)
class _OneStore:
    tenants: Tenants


def test_a_store_is_built_from_its_annotation(pool: Pool) -> None:
    assert isinstance(build_stores(_OneStore, SystemTransactions(pool)).tenants, Tenants)


def test_a_store_never_gets_the_transactions_of_another_role(pool: Pool) -> None:
    with pytest.raises(TypeError, match="Tenants does not take TenantTransactions"):
        build_stores(_OneStore, TenantTransactions(pool, TenantId(1)))
