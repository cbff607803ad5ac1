"""Faults and bad input: what a user's machine, operating system and data do at worst."""
