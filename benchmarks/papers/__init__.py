"""The numbers that the four published papers print, computed again."""
