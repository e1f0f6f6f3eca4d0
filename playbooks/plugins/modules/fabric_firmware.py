#!/usr/bin/python
"""Ansible module fabric_firmware: parameters of the NICs' firmware, as declared from the next boot on; never resets a NIC."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.fabric_host import REBOOT, Failed, last_line, make_folders, write

DOCUMENTATION = """
module: fabric_firmware
short_description: Parameters of the firmware of a GPU host's NICs
description:
  - Compares what each NIC will have from its next boot on with what is declared, and sets what differs by C(mlxconfig) or C(mstconfig).
  - Never resets a NIC and never reboots. Where the running value is still another one, the reason is put into
    /run/fabric/reboot-required.d/firmware.
options:
  tool: {description: The program., choices: [mlxconfig, mstconfig], default: mlxconfig, type: str}
  devices: {description: "NICs by PCI address, or by the name of their RDMA device.", type: list, elements: str, required: true}
  settings:
    description: Parameters and values in the order in which they must be set; each an item C(KEY=VALUE).
    type: list
    elements: str
    required: true
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
"""

EXAMPLES = """
- name: Ethernet on all ports
  fabric_firmware:
    devices: ["0000:1b:00.0"]
    settings: ["LINK_TYPE_P1=2"]
"""

RETURN = """
differ: {description: What was not as declared from the next boot on., returned: always, type: list, elements: str}
reboot: {description: What is another value until the next boot; empty when nothing is., returned: always, type: str}
"""

_ROW = re.compile(r"[*\s]*([A-Z][A-Z0-9_]+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
REASON = Path(REBOOT, "firmware")


def main() -> None:
    """Runs the module."""
    module = AnsibleModule(
        argument_spec={
            "tool": {"choices": ["mlxconfig", "mstconfig"], "default": "mlxconfig"},
            "devices": {"type": "list", "elements": "str", "required": True},
            "settings": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    os.umask(0o022)
    try:
        result = work(module)
    except (Failed, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def work(module: Any) -> dict[str, Any]:
    """Looks at all NICs, sets what differs, and asks for a reboot where one is needed."""
    tool, devices, settings = (module.params[name] for name in ("tool", "devices", "settings"))
    wanted = [setting.split("=", 1) for setting in settings]
    if module.check_mode and module.get_bin_path(tool) is None:
        return {"changed": True, "differ": [f"{tool} is not there yet"], "reboot": ""}
    program = module.get_bin_path(tool, required=True)
    with ThreadPoolExecutor(len(devices) or 1) as pool:  # each NIC takes a second to answer
        found = dict(zip(devices, pool.map(lambda device: query(module, program, device, wanted), devices)))  # noqa: B905 - Python 3.9
    differ, late = [], []
    for device, values in found.items():
        pairs = [(key, value) for key, value in wanted if not same(value, values[key][1])]
        differ += [f"{device}: {key} is {values[key][1]}, declared {value}" for key, value in pairs]
        late += [f"{device} {key}" for key, value in wanted if not same(value, values[key][0])]
        if pairs and not module.check_mode:
            run(module, device, [program, "-d", device, "-y", "set", *(f"{key}={value}" for key, value in pairs)])
    reboot = (
        f"NIC firmware takes {late[0]}{f' and {len(late) - 1} more' if late[1:] else ''} at boot only" if late else ""
    )
    asked = bool(reboot) and not REASON.exists()
    if asked and not module.check_mode:
        make_folders(REASON.parent)
        write(REASON, f"{reboot}\n".encode(), 0o644)
    diff = {"after_header": "firmware of NICs", "prepared": "".join(f"{line}\n" for line in differ)}
    return {"changed": bool(differ) or asked, "differ": differ, "reboot": reboot, "diff": diff}


def query(module: Any, program: str, device: str, wanted: Sequence[Sequence[str]]) -> Mapping[str, tuple[str, str]]:
    """What a NIC has: key -> (now, from the next boot on). Failed for a NIC that lacks a parameter."""
    text = run(module, device, [program, "-d", device, "-e", "query", *(key for key, _ in wanted)])
    rows = [hit for hit in map(_ROW.match, text.splitlines()) if hit is not None]
    found = {row[1]: (row[3], row[4]) for row in rows}
    missing = [key for key, _ in wanted if key not in found]
    if missing:
        raise Failed(f"{device}: the NIC says nothing of {missing[0]}")
    return found


def run(module: Any, device: str, argv: Sequence[str]) -> str:
    """Output of a command about a NIC; Failed with its last words."""
    code, out, err = module.run_command(list(argv))
    if code:
        raise Failed(f"{device}: {argv[0].rsplit('/', 1)[-1]}: {last_line(err or out)}")
    return str(out)


def same(wanted: str, have: str) -> bool:
    """Whether two ways of writing a value mean the same: "2", "ETH" and "ETH(2)"."""
    one, two = ({part.lower() for part in re.findall(r"[^()]+", text)} for text in (wanted, have))
    return bool(one & two)


if __name__ == "__main__":
    main()
