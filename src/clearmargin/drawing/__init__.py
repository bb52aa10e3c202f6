"""Figures of rule sets and regions, and what all figures share. Only figures import matplotlib, when they are drawn.

Read `canvas.py` first.
"""
