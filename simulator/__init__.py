"""One simulated world and its faces on the wire."""
