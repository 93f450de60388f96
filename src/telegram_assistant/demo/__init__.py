"""`tga demo`: the whole program on this machine, without a Telegram account: servers, the simulator,
a filled tenant.
"""
