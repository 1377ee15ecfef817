"""Measuring: two network namespaces, what passes between them, and whom it passes between."""
