"""Sales of a chain of shops, live from one topic of Kafka to another: ``make demo-kafka``."""
