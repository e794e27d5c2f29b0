"""Kafka on a real broker; ``make test-kafka`` runs what needs it."""
