"""Running an installation: processes, periodic jobs, partitions and checks of the server."""
