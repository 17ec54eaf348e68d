"""The same question put to other libraries for differential privacy and to us: `make bench-peers`."""
