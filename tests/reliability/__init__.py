"""Jobs that are killed, and go on."""
