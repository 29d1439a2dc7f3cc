"""The control face: what tests and the demo may see of the world and do to it, over HTTP."""
