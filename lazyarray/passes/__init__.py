"""Rewrites of expressions: plain functions from expression to expression, named in `pipeline.py`."""
