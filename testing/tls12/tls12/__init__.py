"""TLS 1.2 with cached handshakes, to measure and in no product: see ../README.md."""
