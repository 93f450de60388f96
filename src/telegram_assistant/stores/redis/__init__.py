"""Redis beside the streams: leases, marks, caches. Nothing here is the truth; it can be lost and made again."""
