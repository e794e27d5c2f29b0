"""Records cases from real Flink, and compares flinkish with it on random ones. Dev-only."""
