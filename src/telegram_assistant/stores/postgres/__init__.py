"""PostgreSQL, the source of truth: handwritten SQL through asyncpg, with typed frozen results.

Tenant stores run as the role tga_tenant and see only what the tenant subscribes to; system stores run as
tga_system. Only stores.py decides the role of each store.
"""
