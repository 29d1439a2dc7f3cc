"""Choreography: mailboxes, looks, stores, pacing."""
