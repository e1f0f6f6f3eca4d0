"""Checks of the GPU hosts: `node` runs on a host, with nothing but Python; the rest runs it on all hosts and tells what they say."""
