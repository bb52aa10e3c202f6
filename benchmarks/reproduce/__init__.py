"""The published numbers, recomputed beside the originals."""
