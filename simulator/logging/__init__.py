"""Cloud Logging: the router with its sink's filter, the history of entries, and the faces that take and list them."""
