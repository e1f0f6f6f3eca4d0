"""The configuration lines that the virtual EOS switch accepts, as data: one row a form, in the order of a running-config.

Written from public evidence about EOS, never from the templates of this project, so that a line which the product invents is
refused. Columns: mode | form | evidence | mode that the line opens | flags.

Form: `word` literal (may be abbreviated), `{a|b}` one of, `[a b]` may be left out, `<type>` a value (see `values.py`), `<type>+` one
or more, `=` ends the key: what follows is a value that a later line with the same key replaces (`<type!>` is such a value in mid-line).
Evidence: A = pyavd 6.4.0 emits the line, B = the public Batfish grammar matches it, S = seen in a public document or configuration,
U = inferred from its neighbours in this table.
Flags: hidden = the default, taken but not shown; natural = sorted by its words, numbers by value; peer = sorted as BGP neighbours;
same = same rank as the row above; indent4 = what is inside is indented by four blanks; fixed = hardware, cannot be removed;
late = takes effect when the mode is left. A row of `-` is where a running-config draws a `!` between groups of lines.
"""

from __future__ import annotations

TABLE = """
global | no aaa root | AB
-
global | username <word> = privilege <0-15> [role <word>] [{secret|nopassword} [{sha512|5|0} <word>]] | AB | | natural
global | username <word> ssh-key = <text> | A | | same natural
-
global | hardware counter feature ecn out | AS
-
global | daemon <word> | AB | daemon
daemon | exec = <text> | AB
daemon | shutdown | U
daemon | no shutdown | AB | | same
-
global | load-interval default = <5-600> | A
-
global | service configuration session max pending = <1-20> | BS
global | service configuration session commit {merge|save} [startup-config] | S
global | service configuration terminal disabled | S
-
global | service routing protocols model = {multi-agent|ribd} | AB
-
global | queue-monitor length | AB
global | queue-monitor length default thresholds = <1-100000000> <1-100000000> | A
global | queue-monitor length log = <0-65535> | A
-
global | load-balance policies | A | lb-policies
lb-policies | load-balance sand profile <word> | A | lb-sand
lb-sand | fields udp dst-port <0-65535> | A | lb-fields
lb-fields | payload bytes = <word> | A
lb-fields | match payload bits <word> pattern <word> hash payload bytes <word> | A
-
global | lldp timer = <1-32768> | A
global | lldp hold-time = <10-65535> | A
global | lldp run | AS | | hidden
global | no lldp run | U | | same
-
global | logging buffered = <10-2147483647> [<word>] | AB
global | no logging console | AB
global | logging console = <word> | U | | same
global | logging [vrf <word>] host <word> | AB
global | logging format timestamp = {high-resolution|traditional} | AB
global | logging [vrf <word>] source-interface = <intf> | AB
-
global | platform trident mmu queue profile <word> | A | mmu | indent4
mmu | ingress threshold = <fraction> | A
mmu | ingress headroom = <0-100000000> | A
mmu | ingress resume = <0-100000000> | A
mmu | ingress priority-group <0-7> reserved = <0-100000000> | A | | natural
mmu | ingress priority-group <0-7> threshold = <fraction> | A | | same natural
mmu | egress {unicast|multicast} queue <0-7> reserved {bytes|cells} = <0-100000000> | A | | natural
mmu | egress {unicast|multicast} queue <0-7> threshold = <fraction> | A | | same natural
-
global | hostname = <hostname> | AB
global | ip name-server [vrf <word>] <ip46> | AB
global | dns domain = <word> | AB
-
global | qos profile <word> | A | qos-profile | natural late
qos-profile | qos trust = {dscp|cos} | A
qos-profile | priority-flow-control on | A
qos-profile | priority-flow-control priority <0-7> = {no-drop|drop} | A | | natural
qos-profile | priority-flow-control pause watchdog | AS
qos-profile | priority-flow-control pause watchdog port timer = timeout <seconds> polling-interval <poll> recovery-time <seconds> [forced] | A
qos-profile | priority-flow-control pause watchdog port action = {drop|notify-only|errdisable} | A
qos-profile | tx-queue <0-7> | A | tx-queue | natural
qos-profile | uc-tx-queue <0-7> | A | uc-tx-queue | natural
qos-profile | mc-tx-queue <0-7> | A | uc-tx-queue | natural
tx-queue | no priority | A
tx-queue | priority = strict | A | | same
tx-queue | bandwidth percent = <1-100> | A
tx-queue | bandwidth guaranteed percent = <1-100> | AS
tx-queue | shape rate = <1-100000000> [{kbps|percent|pps}] | A
tx-queue | random-detect ecn minimum-threshold = <int> <voq> maximum-threshold <int> <voq> [max-mark-probability <1-100>] [weight <0-15>] | AS
tx-queue | random-detect ecn count | AS
uc-tx-queue | no priority | A
uc-tx-queue | priority = strict | A | | same
uc-tx-queue | bandwidth percent = <1-100> | A
uc-tx-queue | bandwidth guaranteed percent = <1-100> | AS
uc-tx-queue | shape rate = <1-100000000> [{kbps|percent|pps}] | A
uc-tx-queue | random-detect ecn minimum-threshold = <int> <xgs> maximum-threshold <int> <xgs> [max-mark-probability <1-100>] [weight <0-15>] | AS
uc-tx-queue | random-detect ecn count | AS
-
global | platform fap buffering egress profile = {unicast|balanced} | A
global | platform sand lag hardware-only | A
global | platform sand lag mode = <word> | A
-
global | platform fap voq credit rates unified | A
global | platform sand mdb profile = <word> | A
-
global | port-channel load-balance sand profile = <word> | A
-
global | sflow sample = [dangerous] <1-16777216> | A
global | sflow polling-interval = <1-3600> | A
global | sflow [vrf <word>] destination <ip46> [<1-65535>] | A
global | sflow [vrf <word>] source-interface = <intf> | A
global | sflow run | A
global | sflow hardware acceleration | A
-
global | spanning-tree mode = {none|mstp|rstp|rapid-pvst} | AB
-
global | port-channel load-balance trident udf eth-type {IPv4|IPv6} ip-protocol udp header outer l4 offset <0-255> mask <word> | A
-
global | vrf instance <word> | AB | vrf-instance | natural
vrf-instance | description = <text> | B
-
global | management api http-commands | AB | http
http | protocol {http|https} | AB
http | no protocol {http|https} | B | | same
http | shutdown | AB | | hidden
http | no shutdown | AB | | same
http | vrf <word> | AB | http-vrf
http-vrf | shutdown | AB
http-vrf | no shutdown | AB | | same
-
global | management api gnmi | A | gnmi
gnmi | transport grpc <word> | A | gnmi-transport
gnmi | provider eos-native | A
gnmi-transport | vrf = <word> | A
gnmi-transport | shutdown | U
-
global | tacacs-server timeout = <1-1000> | AB
global | tacacs-server host <word> [vrf <word>] = [key [{0|7|8a}] <word>] | AB
-
global | aaa group server {tacacs+|radius} <word> | AB | aaa-group
aaa-group | server <word> [vrf <word>] | AB
-
global | aaa authentication login {default|console} = <word>+ | AB
global | aaa authorization serial-console | A
global | aaa authorization exec default = <word>+ | AB
global | aaa authorization commands {all|<word>} default = <word>+ | AB
global | aaa accounting exec default = {start-stop|stop-only|none} <word>+ | AB
global | aaa accounting commands {all|<word>} default = {start-stop|stop-only|none} <word>+ | AB
-
global | interface <ethernet> | AB | interface | natural fixed
-
global | interface <loopback> | AB | interface | natural
-
global | interface <management> | AB | interface | natural fixed
interface | description = <text> | AB
interface | shutdown | AB
interface | no shutdown | AB | | same hidden
interface | vrf = <word> | AB
interface | load-interval = <0-600> | B
interface | mtu = <68-65535> | AB
interface | speed = [{auto|forced}] <speed> | A
interface | error-correction encoding = {reed-solomon|fire-code} | A
interface | no switchport | AB
interface | switchport | AB | | same hidden
interface | ip address = <ip/len> | AB
interface | ipv6 enable | AB
interface | ipv6 address <ip6/len> | A
interface | service-profile = <word> | A
interface | qos trust = {dscp|cos} | AS
interface | priority-flow-control on | A
interface | priority-flow-control priority <0-7> = {no-drop|drop} | A | | natural
interface | tx-queue <0-7> | AS | if-queue | natural
interface | uc-tx-queue <0-7> | S | if-queue | natural
if-queue | random-detect ecn count | AS
-
global | load-balance cluster | A | lb-cluster
lb-cluster | forwarding type = {routed|bridged} <word>+ | A
lb-cluster | destination grouping = {bgp|prefix|vtep} [<word>] [<1-128>] | A
lb-cluster | load-balance method flow = round-robin | A
lb-cluster | flow monitor | A
lb-cluster | flow source learning | A | lb-learning
lb-learning | aging timeout = <1-86400> seconds | A
lb-cluster | port group host <word> | A | lb-group
lb-group | interface <word> | A
lb-group | flow limit = <1-100000> | A
lb-group | balance factor = <1-1000> | A
lb-group | flow warning = <1-100000> | A
lb-group | flow exhaustion action dscp <0-63> traffic-class <0-7> | A
-
global | ip routing = [ipv6 interfaces] | AB
global | ip hardware fib load-balance distribution dynamic = [flow-set-size <1-7>] | A
global | no ip routing vrf <word> | AB | | natural
global | ip routing vrf <word> | AB | | same natural
-
global | ip prefix-list <word> | AB | prefix-list | natural
prefix-list | seq <0-65535> = {permit|deny} <ip/len> [eq <0-32>] [ge <0-32>] [le <0-32>] | AB | | natural
-
global | ipv6 prefix-list <word> | AB | prefix-list6 | natural
prefix-list6 | seq <0-65535> = {permit|deny} <ip6/len> [eq <0-128>] [ge <0-128>] [le <0-128>] | AB | | natural
-
global | ipv6 unicast-routing | AB
-
global | ip route [vrf <word>] <ip/len> {<ip>|<intf>|Null0} [<1-255>] | AB | | natural
global | ipv6 route [vrf <word>] <ip6/len> {<ip6>|<intf>|Null0} [<1-255>] | AB | | natural
-
global | ntp local-interface [vrf <word>] = <intf> | AB
global | ntp server [vrf <word>] <word> = [prefer] [iburst] | AB | | natural
-
global | ip load-sharing trident fields = ip source-ip source-port destination-ip destination-port ingress-interface | S | | hidden
global | qos rewrite dscp | A
global | qos map dscp <0-63>+ to traffic-class <0-7> | AS | | dscp
global | qos map traffic-class <0-7>+ to tx-queue <0-7> | AS | | natural
global | qos map traffic-class <0-7>+ to dscp <0-63> | AS | | natural
global | qos random-detect ecn global-buffer = minimum-threshold <int> <unit> maximum-threshold <int> <unit> | A
-
global | priority-flow-control pause watchdog default timeout = <seconds> | AS
global | priority-flow-control pause watchdog default recovery-time = <seconds> | AS
global | priority-flow-control pause watchdog default polling-interval = <seconds> | AS
global | priority-flow-control pause watchdog action = {drop|errdisable|notify-only} | A
global | priority-flow-control pause watchdog override action = drop | A
global | priority-flow-control all off | A
-
global | route-map <word> {permit|deny} <1-65535> | AB | route-map | natural
route-map | description = <text> | B
route-map | match ip address prefix-list = <word> | AB
route-map | match ipv6 address prefix-list = <word> | AB
route-map | set as-path prepend = <asn>+ | AB
route-map | set community = <word>+ | AB
route-map | set local-preference = <0-4294967295> | B
route-map | set metric = <0-4294967295> | B
-
global | peer-filter <word> | AB | peer-filter | natural
peer-filter | <0-65535> match as-range <word> result {accept|reject} | AB | | natural
-
global | router bfd | A | router-bfd
router-bfd | interval = <50-60000> min-rx <50-60000> multiplier <3-50> default | A
-
global | router bgp <asn> | AB | router-bgp
router-bgp | router-id = <ip> | AB
router-bgp | update wait-for-convergence | AB
router-bgp | update wait-install | AB
router-bgp | no bgp default ipv4-unicast | AB
router-bgp | bgp default ipv4-unicast | B | | same hidden
router-bgp | bgp convergence time = <1-3600> | B
router-bgp | bgp convergence slow-peer time = <1-3600> | B
router-bgp | timers bgp = <0-3600> <0-7200> | AB
router-bgp | distance bgp = <1-255> [<1-255> <1-255>] | AB
router-bgp | graceful-restart restart-time = <1-3600> | AB
router-bgp | graceful-restart | AB
router-bgp | maximum-paths = <1-600> [ecmp <1-600>] | AB
router-bgp | bgp bestpath as-path multipath-relax | B | | hidden
router-bgp | no bgp bestpath as-path multipath-relax | B | | same
router-bgp | bgp listen range <prefix> peer-group <word> = [peer-filter <word>] [remote-as <asn>] | AB
router-bgp | neighbor <word> peer group | AB | | peer
router-bgp | neighbor <word> peer group = <word> | AB | | same peer
router-bgp | neighbor <word> remote-as = <asn> | AB | | peer
router-bgp | neighbor <word> shutdown | BS | | peer
router-bgp | no neighbor <word> shutdown | S | | same peer
router-bgp | neighbor <word> description = <text> | AB | | peer
router-bgp | neighbor <word> bfd | AB | | peer
router-bgp | neighbor <word> route-map <word!> in | AB | | peer
router-bgp | neighbor <word> route-map <word!> out | AB | | peer
router-bgp | neighbor <word> send-community = [{standard|extended|large}] | AB | | peer
router-bgp | neighbor <word> maximum-routes = <0-4294967294> [warning-only] | AB | | peer
router-bgp | aggregate-address <prefix> = [summary-only] | AB | | natural
router-bgp | redistribute connected = [route-map <word>] | AB
router-bgp | neighbor interface <intf> peer-group <word> = remote-as <asn> | AB | | natural
router-bgp | address-family ipv4 | AB | bgp-af
router-bgp | address-family ipv6 | AB | bgp-af
bgp-af | neighbor <word> activate | AB | | peer
bgp-af | no neighbor <word> activate | AB | | same peer
bgp-af | neighbor <word> route-map <word!> {in|out} | AB | | peer
bgp-af | neighbor <word> next-hop address-family ipv6 originate | A | | peer
-
global | ip tacacs [vrf <word>] source-interface = <intf> | AB
-
global | platform trident mmu queue profile <word> apply | A
-
global | platform trident mmu headroom-pool limit = <0-1000000000> | A
-
global | management ssh | AB | mgmt-ssh
mgmt-ssh | idle-timeout = <0-86400> | AB
mgmt-ssh | authentication protocol = {keyboard-interactive|password|public-key}+ | AB
mgmt-ssh | connection limit = <1-100> | A
mgmt-ssh | shutdown | AB
mgmt-ssh | no shutdown | AB | | same hidden
mgmt-ssh | vrf <word> | AB | mgmt-vrf
mgmt-vrf | shutdown | AB
mgmt-vrf | no shutdown | AB | | same
"""
"""The table; `grammar.py` reads it. No `|` may stand in a form outside braces: columns are split at ` | `."""
