"""Running an installation: findings of checks, and how full disks and memory are."""
