"""The Compute Engine REST face of the world."""
