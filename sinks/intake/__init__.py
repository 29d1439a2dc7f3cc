"""Log entries in: decoding (pure) and the Pub/Sub subscription (I/O)."""
