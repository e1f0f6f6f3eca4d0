"""Changing hosts with Ansible: waves that we compute, one run a wave, a gate after each. The journal, lock and stop rules are those of
`fabric.change`.
"""
