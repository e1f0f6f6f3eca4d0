"""The show commands about the switch itself: version, uptime, reload cause, log."""

from __future__ import annotations

import os
import time

from fabric.lab.eos.shell import Answer, Call, Handler, Shell
from fabric.lab.eos.shows_base import Json, Shows
from fabric.lab.eos.sources import Sources
from fabric.lab.eos.values import dotted


def system(sources: Sources) -> dict[str, Handler]:
    """The answers to the commands about the switch itself, by the names of the command table."""
    return _SystemShows(sources).table()


class _SystemShows(Shows):
    def _version(self, shell: Shell) -> Json:
        switch = shell.switch
        release = switch.node.settings.version
        mac = str(self.sources.links().get(switch.node.management_linux, {}).get("address", "00:00:00:00:00:00"))
        memory = _memory()
        return {
            "mfgName": "Arista",
            "modelName": switch.node.settings.model,
            "hardwareRevision": "",
            "serialNumber": "",
            "systemMacAddress": mac,
            "hwMacAddress": mac,
            "configMacAddress": "00:00:00:00:00:00",
            "version": release,
            "architecture": "x86_64",
            "internalVersion": release,
            "internalBuildId": "00000000-0000-4000-8000-000000000000",
            "imageFormatVersion": "3.0",
            "imageOptimization": "None",
            "bootupTimestamp": switch.booted,
            "uptime": switch.clock() - switch.booted,
            "memTotal": memory.get("MemTotal", 0),
            "memFree": memory.get("MemAvailable", 0),
            "isIntlVersion": False,
        }

    def show_version(self, shell: Shell, call: Call) -> Answer:
        data = self._version(shell)
        if call.as_json:
            return data
        return (
            f"Arista {data['modelName']}\nHardware version: {data['hardwareRevision']}\n"
            f"Serial number: {data['serialNumber']}\nHardware MAC address: {dotted(data['hwMacAddress'])}\n"
            f"System MAC address: {dotted(data['systemMacAddress'])}\n\nSoftware image version: {data['version']}\n"
            f"Architecture: {data['architecture']}\nInternal build version: {data['internalVersion']}\n"
            f"Internal build ID: {data['internalBuildId']}\nImage format version: {data['imageFormatVersion']}\n"
            f"Image optimization: {data['imageOptimization']}\n\nUptime: {_duration(data['uptime'])}\n"
            f"Total memory: {data['memTotal']} kB\nFree memory: {data['memFree']} kB\n\n"
        )

    def show_hostname(self, shell: Shell, call: Call) -> Answer:
        name = shell.switch.hostname
        domain = shell.switch.sessions.running.value("dns", "domain")
        fqdn = f"{name}.{domain}" if domain else name
        return {"hostname": name, "fqdn": fqdn} if call.as_json else f"Hostname: {name}\nFQDN:     {fqdn}\n"

    def show_uptime(self, shell: Shell, call: Call) -> Answer:
        now, load = shell.switch.clock(), list(os.getloadavg())
        up = now - shell.switch.booted
        if call.as_json:
            return {"upTime": up, "loadAvg": load, "users": 1, "currentTime": now}
        clock = time.strftime("%H:%M:%S", time.gmtime(now))
        return f" {clock} up {_duration(up)},  1 user,  load average: {load[0]:.2f}, {load[1]:.2f}, {load[2]:.2f}\n"

    def show_clock(self, shell: Shell, _: Call) -> Answer:
        return time.strftime("%a %b %e %H:%M:%S %Y\nTimezone: UTC\n", time.gmtime(shell.switch.clock()))

    def show_boot_config(self, shell: Shell, call: Call) -> Answer:
        image = f"flash:/EOS64-{shell.switch.node.settings.version}.swi"
        if call.as_json:
            return {"softwareImage": image}
        return f"Software image: {image}\nConsole speed: (not set)\nAboot password (encrypted): (not set)\n"

    def show_reload_cause(self, shell: Shell, call: Call) -> Answer:
        causes = [
            {
                "recommendedAction": "No action necessary.",
                "description": text,
                "timestamp": when,
                "debugInfoIsDir": False,
            }
            for when, text in reversed(shell.switch.reload_causes)
        ]
        if call.as_json:
            return {"kernelCrashData": [], "resetCauses": causes, "full": False}
        return "".join(
            f"Reload Cause {number}:\n-------------------\n{cause['description']}\n\n"
            for number, cause in enumerate(causes, 1)
        )

    def show_inventory(self, shell: Shell, call: Call) -> Answer:
        model = shell.switch.node.settings.model
        if not call.as_json:
            return f"System information\n    Model                    Description\n    {model}\n"
        system = {"name": model, "description": "virtual switch of the lab"}
        return {
            "systemInformation": system,
            "powerSupplySlots": {},
            "fanTraySlots": {},
            "cardSlots": {},
            "xcvrSlots": {},
        }

    def show_logging(self, shell: Shell, _: Call) -> Answer:
        return "".join(f"{line}\n" for line in shell.switch.log[-200:])

    def show_users(self, shell: Shell, _: Call) -> Answer:
        return f"    Line      User\n*   {shell.terminal:<9} {shell.user}\n"


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    weeks, days, hours = minutes // 10080, minutes // 1440 % 7, minutes // 60 % 24
    return f"{weeks} weeks, {days} days, {hours} hours and {minutes % 60} minutes"


def _memory() -> dict[str, int]:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - one read of a kernel file
            return {line.split(":")[0]: int(line.split()[1]) for line in lines}
    except (OSError, ValueError, IndexError):
        return {}
