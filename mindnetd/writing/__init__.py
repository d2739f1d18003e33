"""The writer's parts: what it knows, what it writes, what still waits for vectors."""
