"""Collectives, point-to-point tests and diagnostics: run by stages, read strictly, judged against expectation and peers, located."""
