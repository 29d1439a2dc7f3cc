"""Pub/Sub: topics and subscriptions with leases, redelivery and dead letters, and their gRPC face."""
