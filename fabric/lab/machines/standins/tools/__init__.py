"""The programs of the stand-ins, as a machine runs them: Python's standard library only. Each remembers what it was told and answers in
the shape of the real program. Numbers in the answers are illustrative.
"""
