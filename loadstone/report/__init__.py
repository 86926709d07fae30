"""Draws what the analysis found: figures, tables, one self-contained page."""
