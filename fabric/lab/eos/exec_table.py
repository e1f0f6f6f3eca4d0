"""Commands outside the configuration, in the notation of `grammar_table.py`; the fourth column names what answers them."""

from __future__ import annotations

EXEC = """
exec | show version | AS | version
exec | show hostname | S | hostname
exec | show uptime | S | uptime
exec | show clock | U | clock
exec | show boot-config | S | boot_config
exec | show reload cause | S | reload_cause
exec | show inventory | S | inventory
exec | show logging | U | logging
exec | show lldp neighbors | S | lldp
exec | show lldp neighbors detail | S | lldp_detail
exec | show ip bgp summary [vrf <word>] | S | bgp4
exec | show ipv6 bgp summary [vrf <word>] | S | bgp6
exec | show bgp ipv4 unicast summary [vrf <word>] | S | bgp4
exec | show bgp ipv6 unicast summary [vrf <word>] | S | bgp6
exec | show bgp summary [vrf <word>] | S | bgp_all
exec | show interfaces [<intf>] | S | interfaces
exec | show interfaces [<intf>] status | S | interfaces_status
exec | show interfaces [<intf>] description | S | interfaces_description
exec | show interfaces [<intf>] counters errors | S | counters_errors
exec | show interfaces [<intf>] counters discards | S | counters_discards
exec | show ip route [vrf <word>] [<prefix>] | S | route4
exec | show ip route [vrf <word>] <ip> | S | route4
exec | show ipv6 route [vrf <word>] [<prefix>] | S | route6
exec | show ipv6 route [vrf <word>] <ip6> | S | route6
exec | show priority-flow-control counters | S | pfc_counters
exec | show priority-flow-control counters watchdog | S | pfc_watchdog
exec | show running-config [{all|sanitized}] | S | running
exec | show running-config section <text> | S | running_section
exec | show running-config diffs | S | running_diffs
exec | show startup-config | S | startup
exec | show session-config | U | session_config
exec | show session-config diffs | S | session_diffs
exec | show session-config named <word> | U | session_config
exec | show session-config named <word> diffs | S | session_diffs
exec | show configuration sessions [detail] | S | config_sessions
exec | show configuration checkpoints | S | config_checkpoints
exec | show users | U | users
exec | enable | S | enable
exec | disable | S | disable
exec | terminal width <1-32767> | S | terminal_width
exec | terminal length <0-32767> | S | terminal_length
exec | no terminal monitor | U | nothing
exec | terminal monitor | U | nothing
exec | configure [terminal] | S | configure
exec | configure session [<word>] | S | configure_session
exec | configure session <word> description <text> | S | configure_session
exec | configure session <word> commit | S | session_commit
exec | configure session <word> commit timer <word> | S | session_commit
exec | configure session <word> abort | S | session_abort
exec | no configure session <word> | S | session_abort
exec | configure replace <word> [ignore-errors] | S | configure_replace
exec | configure checkpoint save [<word>] | S | checkpoint_save
exec | configure checkpoint restore <word> | S | checkpoint_restore
exec | commit | S | commit
exec | commit timer <word> | S | commit
exec | abort | S | abort
exec | rollback clean-config | S | rollback
exec | copy <word> <word> [<word>] | S | copy
exec | write [memory] | S | write
exec | delete <word> | U | delete
exec | dir [<word>] | S | dir
exec | verify /md5 <word> | S | verify
exec | bash | S | bash
exec | bash <text> | S | bash
exec | diff <word> <word> | S | diff
exec | ping <text> | U | ping
exec | reload | S | reload
exec | reload now | S | reload
exec | end | S | end
exec | exit | S | exit
exec | logout | U | exit
exec | quit | U | exit
"""
"""The table; `grammar.py` reads it."""
