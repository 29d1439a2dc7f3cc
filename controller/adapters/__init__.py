"""One outside system per module; each maps its SDK's errors to our failure classes."""
