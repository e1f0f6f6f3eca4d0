"""Verification of an InfiniBand subnet: reads by management packets and the SM's own words, judged against the design."""
