"""Checks of the back-end NICs as the kernel has them: slot, link, MTU, addresses, routes, flaps, cable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedNic
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check, PerUnit
from fabric.verify.hosts.node.parse_net import objects, pairs
from fabric.verify.hosts.node.parse_system import lldp
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Seen, Source, Unseen


class PerNic(PerUnit):
    """A check of each back-end NIC."""

    def units(self, want: Expectation) -> Sequence[str]:
        """Names of the NICs that it is about."""
        return [nic.name for nic in want.nics]

    def one(self, want: Expectation, seen: Seen, unit: str) -> Iterator[Result]:
        """See PerUnit."""
        yield from self.nic(want, seen, next(nic for nic in want.nics if nic.name == unit))

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        """The results of one NIC. May raise Unseen."""
        raise NotImplementedError


class Slot(PerNic):
    """Each NIC's name belongs to the declared PCI slot: names in nccl.conf, rails and cables all follow from it."""

    id = "nic.slot"
    action = "the rule that names NICs by slot did not apply: udevadm test-builtin net_setup_link /sys/class/net/NAME, then reboot"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.ethtool_driver(nic.name) for nic in want.nics if nic.pci]

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in want.nics if nic.pci]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        bus = pairs(seen.text(src.ethtool_driver(nic.name))).get("bus-info", "")
        if not bus:
            raise Unseen("ethtool -i does not say the PCI slot")
        if bus == nic.pci:
            yield self.ok(nic.name, bus)
        else:
            yield self.bad(nic.name, f"in slot {bus}", f"in slot {nic.pci}")


class Link(PerNic):
    """Each NIC's link is up with its full speed."""

    id = "nic.link"
    action = "check the cable and both plugs; fabric validate cabling tells what the switch sees"
    cases = ("NVIDIA/nccl#905",)

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [
            source for nic in _ethernet(want) for source in (src.netdev(nic.name, "operstate"), src.ethtool(nic.name))
        ]

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in _ethernet(want)]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        path = src.netdev(nic.name, "operstate").pattern
        state = seen.files(src.netdev(nic.name, "operstate")).get(path, "").strip()
        place = f" (cable to {nic.switch} {nic.switch_port})" if nic.switch else ""
        if state != "up":
            yield self.bad(nic.name, f"{state or 'there is no such NIC'}{place if state else ''}", "up")
            return
        speed = re.fullmatch(r"(\d{1,9})Mb/s", pairs(seen.text(src.ethtool(nic.name))).get("Speed", ""))
        if speed is None:
            raise Unseen("ethtool does not say the speed")
        gbps = int(speed[1]) / 1000
        if gbps == nic.speed_gbps:
            yield self.ok(nic.name, f"up, {gbps:g} Gb/s")
        else:
            yield self.bad(nic.name, f"{gbps:g} Gb/s{place}", f"{nic.speed_gbps} Gb/s")


def _ethernet(want: Expectation) -> Sequence[ExpectedNic]:
    return want.nics if want.backend == "roce" else ()


class Mtu(PerNic):
    """Each NIC has the declared MTU: one host with another one gives hangs and error 12, not a clear message."""

    id = "nic.mtu"
    action = "fabric apply --hosts; an address manager of another file may have set it"
    cases = ("NVIDIA/nccl#1524", "NVIDIA/nccl#709", "NVIDIA/nccl#1957")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.netdev(nic.name, "mtu") for nic in want.nics] if want.mtu else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        have = seen.file(src.netdev(nic.name, "mtu").pattern)
        if have == str(want.mtu):
            yield self.ok(nic.name, have)
        else:
            yield self.bad(nic.name, have, str(want.mtu))


class Addresses(PerNic):
    """Each NIC has its declared addresses, and no others of a global scope."""

    id = "nic.address"
    action = "fabric apply --hosts; networkctl status NAME or nmcli device show NAME tells who set the address"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.IP_ADDRESSES] if any(nic.addresses for nic in want.nics) else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        links = [item for item in objects(seen.text(src.IP_ADDRESSES), "ip") if item.get("ifname") == nic.name]
        if not links:
            yield self.bad(nic.name, "there is no such NIC", ", ".join(nic.addresses))
            return
        entries = links[0].get("addr_info")
        have = {
            f"{entry.get('local')}/{entry.get('prefixlen')}"
            for entry in (entries if isinstance(entries, list) else [])
            if isinstance(entry, dict) and entry.get("scope") == "global"
        }
        if have == set(nic.addresses):
            yield self.ok(nic.name, ", ".join(nic.addresses))
        else:
            yield self.bad(nic.name, ", ".join(sorted(have)) or "no address", ", ".join(nic.addresses))


class Routing(PerNic):
    """What is sent from a NIC's address leaves by this NIC: a rule leads to its own table, whose default goes to the RTSW."""

    id = "nic.routing"
    action = "fabric apply --hosts writes rules and tables; ip rule and ip route show table N show what is there"

    def needs(self, want: Expectation) -> Sequence[Source]:
        versions = {_version(address) for nic in want.nics if nic.table for address in nic.addresses}
        return [source for version in sorted(versions) for source in (src.IP_RULES[version], src.IP_ROUTES[version])]

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in want.nics if nic.table and nic.addresses]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        for address in nic.addresses:
            version, host = _version(address), address.partition("/")[0]
            rules = objects(seen.text(src.IP_RULES[version]), "ip")
            routes = objects(seen.text(src.IP_ROUTES[version]), "ip")
            table = str(nic.table)
            ruled = any(str(rule.get("table")) == table and rule.get("src") == host for rule in rules)
            gateways = [
                str(route.get("gateway"))
                for route in routes
                if str(route.get("table")) == table and route.get("dst") == "default" and route.get("dev") == nic.name
            ]
            peers = [peer.partition("/")[0] for peer in nic.peers if _version(peer) == version]
            if not ruled:
                yield self.bad(nic.name, f"no rule for {host}", f"a rule from {host} to table {table}")
            elif not gateways or (peers and not set(gateways) & set(peers)):
                text = f"default by {', '.join(gateways)}" if gateways else f"no default route in table {table}"
                yield self.bad(nic.name, text, f"default by {', '.join(peers) or 'the RTSW'} in table {table}")
            else:
                yield self.ok(nic.name, f"from {host} by {gateways[0]}")


def _version(address: str) -> int:
    return 6 if ":" in address else 4


class Flaps(PerNic):
    """No NIC lost its carrier again and again of late; the number and the window are the platform's."""

    id = "nic.flaps"
    severity = WARNING
    action = (
        "clean and reseat the plugs, then replace the cable or the optics; the switch's port counters tell which end"
    )
    cases = ("NVIDIA/nccl#905", "NVIDIA/nccl#1819")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.KERNEL_LOG] if want.limits.flaps else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        log = seen.text(src.KERNEL_LOG)
        since = seen.now - want.limits.flap_hours * 3600
        names = "|".join(re.escape(name) for name in (nic.name, nic.hca))
        managed = re.findall(rf"^(\d{{9,11}})[.\d]* .*\b(?:{names}): Lost carrier", log, re.MULTILINE)
        kernel = re.findall(rf"^(\d{{9,11}})[.\d]* .*\b(?:{names}): Link (?:is )?[Dd]own", log, re.MULTILINE)
        count = max(sum(int(at) >= since for at in told) for told in (managed, kernel))
        place = f", the cable to {nic.switch} {nic.switch_port}" if nic.switch else ""
        if count >= want.limits.flaps:
            text = f"carrier lost {count} times in {want.limits.flap_hours:g} h{place}"
            yield self.bad(nic.name, text, f"fewer than {want.limits.flaps}")
        else:
            yield self.ok(nic.name, f"carrier lost {count} times in {want.limits.flap_hours:g} h")


class Cable(PerNic):
    """Each NIC hears by LLDP the switch and port that it is cabled to. Only where lldpd is among the host's services."""

    id = "nic.cable"
    action = "move the cable to the port that is declared; fabric validate cabling names both ends of a swap"
    cases = ("scitix/sichek#133", "NVIDIA/nv-config-manager#207")

    def needs(self, want: Expectation) -> Sequence[Source]:
        has_lldp = any(name.partition(".")[0] == "lldpd" for name in want.services)
        return [src.LLDP] if has_lldp and any(nic.switch for nic in want.nics) else []

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in want.nics if nic.switch]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        heard = lldp(seen.text(src.LLDP)).get(nic.name, [])
        if not heard:
            raise Unseen("no LLDP neighbour is heard")
        if any(_short(system) == _short(nic.switch) and nic.switch_port in ports for system, ports in heard):
            yield self.ok(nic.name, f"{nic.switch} {nic.switch_port}")
        else:
            text = "; ".join(f"{system} {' '.join(ports[:1])}" for system, ports in heard)
            yield self.bad(nic.name, text, f"{nic.switch} {nic.switch_port}")


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


CHECKS: tuple[Check, ...] = (
    Slot(), Link(), Mtu(), Addresses(), Routing(), Flaps(), Cable(),
)  # fmt: skip
