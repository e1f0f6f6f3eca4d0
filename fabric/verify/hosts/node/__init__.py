"""What runs on a host, as `check-host`. Python's standard library only, Python 3.9 (RHEL 9): no slots, no match, no `X | None` evaluated."""
