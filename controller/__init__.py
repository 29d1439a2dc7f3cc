"""The operator. Read ARCHITECTURE.md for the map."""
