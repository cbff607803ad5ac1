"""Expression to plan: fusion groups, kernel records, buffers."""
