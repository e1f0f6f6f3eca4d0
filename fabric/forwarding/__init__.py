"""Forwarding tables and what follows from them: the wiring as arrays, the walk of all pairs, dependencies, contention. Needs numpy."""
