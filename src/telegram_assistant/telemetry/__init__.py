"""How the program is watched: logs, metrics, traces, health."""
