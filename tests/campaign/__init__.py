"""Wrong calls, wrong elements and malformed files, generated from a seed: each is to end in an error of
flinkish that says what is wrong, or to do something that makes sense."""
