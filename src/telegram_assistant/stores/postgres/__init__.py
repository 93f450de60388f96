"""PostgreSQL: the log and the truth. SQL by hand through asyncpg, typed frozen results.

Tenant stores run as the role tga_tenant and see only what the tenant subscribes to; system stores run as
tga_system. Which is which is decided in stores.py, and nowhere else.
"""
