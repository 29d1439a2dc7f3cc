"""The Cloud Logging boundary, both ways: entries in, audit records out."""
