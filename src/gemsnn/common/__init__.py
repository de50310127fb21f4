"""Utilities shared by several packages, independent of neural networks."""
