"""Audit records out: the record (pure) and its writers (I/O)."""
