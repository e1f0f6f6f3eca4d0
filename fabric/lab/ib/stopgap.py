"""Until fabric.targets.opensm renders: the least files that bring a subnet up (infiniband.md 1.1), and their lab form."""

from __future__ import annotations

from pathlib import Path

from fabric.design.ib.model import Subnet, SubnetManager
from fabric.lab.ib.places import ETC, SmPlace
from fabric.targets.base import Artifact

_FILES = ("partition_config_file", "root_guid_file", "cn_guid_file")


def render(subnet: Subnet, manager: SubnetManager, base_dir: Path) -> list[Artifact]:  # noqa: ARG001 - the agreed shape
    """opensm.conf, root and CN files."""
    engines = ",".join([*subnet.routing.engines, *([] if subnet.routing.fallback else ["no_fallback"])])
    conf = {
        "guid": f"{manager.hca.port_guid:#018x}",
        "sm_priority": str(manager.priority),
        "routing_engine": engines,
        "root_guid_file": f"{ETC}/root_guids.conf",
        "cn_guid_file": f"{ETC}/cn_guids.conf",
        "sminfo_polling_timeout": "1000",
        "polling_retry_number": "2",
        "honor_guid2lid_file": "TRUE",
    }
    files = {
        "opensm.conf": "".join(f"{key} {value}\n" for key, value in conf.items()),
        "root_guids.conf": "".join(f"{switch.guid:#018x}\n" for switch in subnet.roots),
        "cn_guids.conf": "".join(f"{hca.port_guid:#018x}\n" for hca in subnet.compute),
    }
    return [Artifact(manager.host, "sm", "opensm", f"{ETC}/{name}", text.encode()) for name, text in files.items()]


def lab_form(artifacts: list[Artifact], place: SmPlace) -> tuple[dict[str, bytes], list[str]]:
    """The same files with other places, timeouts and logging."""
    own = {
        "log_file": str(place.log), "log_flags": "0x07", "force_log_flush": "TRUE", "dump_files_dir": str(place.dump),
        "max_wire_smps": "64", "max_wire_smps2": "64", "transaction_timeout": "5000", "long_transaction_timeout": "5000",
    }  # fmt: skip
    files = {artifact.path.removeprefix(f"{ETC}/"): artifact.content for artifact in artifacts}
    lines = []
    for line in files["opensm.conf"].decode().splitlines():
        key, _, value = line.partition(" ")
        if key in _FILES:
            value = str(place.form / Path(value).name)
        if key not in own:
            lines.append(f"{key} {value}")
    lines += [f"{key} {value}" for key, value in own.items()]
    files["opensm.conf"] = "".join(f"{line}\n" for line in lines).encode()
    return files, [f"{key} set to {value}" for key, value in own.items()]
