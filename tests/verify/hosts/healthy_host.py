"""What the tools of a healthy host print: shapes as recorded, numbers our own. 2 NICs and 2 GPUs tell as much as 8."""

from __future__ import annotations

import json

from fabric.design.hosts.expect import (
    Expectation,
    ExpectedLimits,
    ExpectedMount,
    ExpectedNic,
    ExpectedPackage,
    ExpectedPcieSwitch,
    ExpectedPlatform,
    ExpectedQos,
    ExpectedTopology,
    ExpectedVersions,
)
from fabric.verify.hosts.node import checks_driver, checks_pcie
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.sources import Digest, Files, Probe, Source

NOW = 1_790_000_000.0
NICS = tuple(
    ExpectedNic(
        rail=rail, name=f"beth{rail}", hca=f"mlx5_{rail}", speed_gbps=400, pci=f"0000:{slot}:00.0", switch="z01-rtsw001",
        switch_port=f"eth{rail + 1}/1/1", addresses=(f"10.128.0.{2 * rail + 1}/31", f"2001:db8:{rail}::2/64"),
        peers=(f"10.128.0.{2 * rail}/31", f"2001:db8:{rail}::1/64"), table=101 + rail, guid=f"0x00000000000000a{rail}",
    )
    for rail, slot in enumerate(("1b", "2c"))
)  # fmt: skip
SLOTS = ExpectedTopology(
    ("0000:1a:00.0", "0000:2b:00.0"), tuple(nic.pci for nic in NICS),
    (ExpectedPcieSwitch("pex0", (0,), (0,)), ExpectedPcieSwitch("pex1", (1,), (1,))), "/var/log/nccl/topology.xml",
)  # fmt: skip
WANT = Expectation(
    host="z01-r001-h1", cluster="lab", backend="roce", os_id="debian", os_version="12", mtu=9000, nics=NICS,
    platform=ExpectedPlatform("grand-teton-h100", 2, "H100 80 GB HBM3", 80, 0, "32.0 GT/s", 16, 4096, True),
    qos=ExpectedQos(3, (24, 26), 26, 106, 48, 6, False),
    versions=ExpectedVersions("580.126.16", "580.126.16", "13.0", "2.28.9", "4.5.2", "doca", "3.2.1"),
    packages=(ExpectedPackage("nvidia-open", "580.126.16-*"), ExpectedPackage("libnccl2", "2.28.9-1+cuda13.0")),
    firmware={"LINK_TYPE_P1": "2", "SRIOV_EN": "0"}, sysctls={"kernel.numa_balancing": "0", "net.core.rmem_max": "2147483647"},
    governor="performance", hugepages=64, services=("nvidia-dcgm", "lldpd.service"), modules=("nvidia_peermem|nvidia-fs",),
    nccl={"NCCL_IB_HCA": "=mlx5_0,mlx5_1", "NCCL_IB_TC": "106"}, files={"/etc/nccl.conf": "ab" * 32},
    mounts=(
        ExpectedMount("scratch", "fuse", "/mnt/scratch", "fabric-fuse-mnt-scratch", "tectonic"),
        ExpectedMount("home", "pnfs", "/mnt/home", "mnt-home", "10.1.0.9:/home", ("vers=4.2", "hard", "nconnect=8", "noatime")),
    ),
    limits=ExpectedLimits(10000, 20_000_000, 512, (48, 79), 2.0, 5, 24.0, 100.0),
    topology=SLOTS, kernel_arguments=("iommu=pt",),
)  # fmt: skip
INBOX = ExpectedVersions(driver="535.43.02", rdma_stack="inbox")


def smi(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def gpu(index: int, slot: str) -> str:
    return f"{index}, 00000000:{slot}:00.0, NVIDIA H100 80GB HBM3, 81559, 580.126.16, Enabled"


def links(index: int) -> str:
    up = "".join(f"\t Link {number}: 26.562 GB/s\n" for number in range(18))
    return f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-{index})\n{up}"


def qos(
    trust: str = "dscp", pfc: str = "0   0   0   1   0   0   0   0", dscps: str = "31,30,29,28,27,26,25,24,"
) -> str:
    return f"""DCBX mode: OS controlled
Priority trust state: {trust}
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:{dscps}
\tprio:6 dscp:55,54,53,52,51,50,49,48,
default priority:
Receive buffer size (bytes): 19872,243072,0,0,0,0,0,0,total_size=262944
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     {pfc}
\tbuffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  1
"""


def device(
    slot: str, title: str, *, speed: str = "32GT/s", width: int = 16, read: int = 4096, acs: str = "SrcValid-"
) -> str:
    return f"""0000:{slot}:00.0 {title}
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tMaxPayload 512 bytes, MaxReadReq {read} bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed {speed}, Width x{width}
\tCapabilities: [220 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+
\t\tACSCtl:\t{acs} TransBlk- ReqRedir-

"""


def hca(rail: int, *, state: str = "PORT_ACTIVE (4)", mtu: str = "4096 (5)", layer: str = "Ethernet") -> str:
    return f"""hca_id:\tmlx5_{rail}
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\t\tport:\t1
\t\t\tstate:\t\t\t{state}
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t{mtu}
\t\t\tport_lid:\t\t0
\t\t\tlink_layer:\t\t{layer}
\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0a80:00ff:fe00:0001, RoCE v1
\t\t\tGID[  3]:\t\t::ffff:10.128.0.{2 * rail + 1}, RoCE v2

"""


GIDS = """DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---
mlx5_0\t1\t0\tfe80:0000:0000:0000:0a80:00ff:fe00:0001\t\t\tv1\tbeth0
mlx5_0\t1\t2\t0000:0000:0000:0000:0000:ffff:0a80:0001\t10.128.0.1  \tv1\tbeth0
mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a80:0001\t10.128.0.1  \tv2\tbeth0
mlx5_1\t1\t3\t0000:0000:0000:0000:0000:ffff:0a80:0003\t10.128.0.3  \tv2\tbeth1
n_gids_found=4
"""


def ib(rail: int, *, state: str = "Active", physical: str = "LinkUp", rate: int = 400, guid: str = "") -> str:
    return f"""CA 'mlx5_{rail}'
\tCA type: MT4129
\tNode GUID: 0x00000000000000f{rail}
\tPort 1:
\t\tState: {state}
\t\tPhysical state: {physical}
\t\tRate: {rate}
\t\tPort GUID: {guid or f"0x00000000000000a{rail}"}
\t\tLink layer: InfiniBand
"""


def firmware(link: str = "ETH(2)", following: str = "ETH(2)") -> str:
    return f"""
Device #1:
----------

Device type:    ConnectX7
Device:         0000:1b:00.0

Configurations:                              Default         Current         Next Boot
*        LINK_TYPE_P1                        IB(1)           {link}          {following}
         SRIOV_EN                            True(1)         False(0)        False(0)
The '*' shows parameters with next value different from default/current value.
"""


def unit(name: str, active: str = "active", sub: str = "running", result: str = "success") -> str:
    return f"Id={name}\nLoadState=loaded\nActiveState={active}\nSubState={sub}\nResult={result}\nNRestarts=0\n"


def neighbour(rail: int, port: str = "") -> dict[str, object]:
    told = {"id": {"type": "ifname", "value": port or f"eth{rail + 1}/1/1"}, "descr": "to a host"}
    return {f"beth{rail}": {"chassis": {"z01-rtsw001": {"id": {"type": "mac"}}}, "port": told}}


ADDRESSES = [
    {"ifname": nic.name, "mtu": 9000, "addr_info": [
        *({"local": text.split("/")[0], "prefixlen": int(text.split("/")[1]), "scope": "global"} for text in nic.addresses),
        {"local": "fe80::1", "prefixlen": 64, "scope": "link"},
    ]}
    for nic in NICS
]  # fmt: skip
RULES = {
    version: [{"priority": 0, "src": "all", "table": "local"}, *(
        {"priority": nic.table, "src": nic.addresses[place].split("/")[0], "table": str(nic.table)} for nic in NICS
    )]
    for version, place in ((4, 0), (6, 1))
}  # fmt: skip
ROUTES = {
    version: [
        {"dst": "default", "gateway": nic.peers[place].split("/")[0], "dev": nic.name, "table": str(nic.table)}
        for nic in NICS
    ]
    for version, place in ((4, 0), (6, 1))
}
TOPOLOGY = """\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity
GPU0\t X \tNV18\tPXB\tSYS\t0-47
GPU1\tNV18\t X \tSYS\tPIX\t48-95
NIC0\tPXB\tSYS\t X \tSYS\t
NIC1\tSYS\tPIX\tSYS\t X \t

Legend:

  SYS  = Connection traversing PCIe as well as the SMP interconnect

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
LOG = f"""{NOW - 90000:.6f} h1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.
{NOW - 60:.6f} h1 kernel: NVRM: Xid (PCI:0000:1b:00): 31, pid=7, name=python, MMU fault
{NOW - 50:.6f} h1 systemd-networkd[7]: beth0: Lost carrier
{NOW - 40:.6f} h1 kernel: mlx5_core 0000:1b:00.0 beth0: Link up
"""
MOUNTS = """22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:44 / /mnt/scratch rw,nosuid,nodev,relatime shared:9 - fuse.tectonic tectonic rw,user_id=0,allow_other
41 22 0:45 / /mnt/home rw,relatime shared:10 - autofs systemd-1 rw,fd=40
42 41 0:46 / /mnt/home rw,noatime shared:11 - nfs4 10.1.0.9:/home rw,vers=4.2,rsize=1048576,hard,proto=tcp,nconnect=8
"""
STATS = """device /dev/sda1 mounted on / with fstype ext4
device 10.1.0.9:/home mounted on /mnt/home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,nconnect=8
\tnfsv4:\tbm0=0xf8f3b77e,acl=0x3,sessions,pnfs=LAYOUT_FLEX_FILES,lease_time=90
\txprt:\ttcp 0 0 2 0 38 66 66 0 66 0 2 0 0
\tper-op statistics
\t        READ: 12 12 0 2352 9000 0 3 3 0
\t       WRITE: 4 4 0 2352 9000 0 3 3 0
\t   LAYOUTGET: 7 7 0 2352 9000 0 3 3 0
"""
KEYS = sorted(WANT.firmware)
FAST = 'link_speed="32.0 GT/s PCIe" link_width="16"'
DUMP = f"""<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x060400" vendor="0x1000" device="0xc030" {FAST}>
      <pci busid="0000:1a:00.0" class="0x030200" {FAST}>
        <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:5b:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:1b:00.0" class="0x020000" {FAST}>
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xa0" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x1" numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:28:00.0" class="0x060400" vendor="0x1000" device="0xc030" {FAST}>
      <pci busid="0000:2b:00.0" class="0x030200" {FAST}><gpu dev="1" sm="90" rank="1" gdr="1"/></pci>
      <pci busid="0000:2c:00.0" class="0x020000" {FAST}>
        <nic><net name="mlx5_1" dev="1" speed="400000" port="1" guid="0xa1" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""
ABOVE = {"1": "pci0000:15/0000:15:01.0/0000:16:00.0", "2": "pci0000:25/0000:25:01.0/0000:26:00.0"}
IN_SYS = "".join(
    f"/sys/devices/{ABOVE[pci[5]]}/0000:{pci[5]}7:0{port}.0/{pci}\n"
    for pci, port in zip((*SLOTS.gpus, *SLOTS.nics), (0, 0, 1, 1), strict=True)
)


def pcie(pattern: str, speed: str = "32.0", width: int = 16, now: str = "2.5") -> dict[str, str]:
    """Attributes of one end of a link; an idle GPU's current speed is low."""
    folder = pattern.rpartition("/")[0]
    speeds = {"current_link_speed": f"{now} GT/s PCIe\n", "max_link_speed": f"{speed} GT/s PCIe\n"}
    return {f"{folder}/{name}": text for name, text in {**speeds, "current_link_width": f"{width}\n"}.items()}


def files(path: str, text: str) -> tuple[Source, object]:
    return Files(path), {path: text}


HEALTHY: dict[Source, object] = dict(
    [
        (src.OS_RELEASE, {"/etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12"\n'}),
        files("/proc/sys/kernel/hostname", "z01-r001-h1\n"),
        files("/proc/sys/kernel/numa_balancing", "0\n"),
        files("/proc/sys/net/core/rmem_max", "2147483647\n"),
        (src.MODULES, "Module                  Size  Used by\nnvidia_peermem         20480  0\nib_core               499712  8 rdma_cm\n"),
        files("/proc/meminfo", "MemTotal: 1 kB\nHugePages_Total:      64\nHugePages_Free: 1\n"),
        (src.GOVERNORS, {f"/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": "performance\n" for n in (0, 1)}),
        (src.EDAC, {f"/sys/devices/system/edac/mc/mc{n}/ue_count": "0\n" for n in (0, 1)}),
        (src.REBOOT_DUE, {}),
        files("/etc/nccl.conf", "# ours\nNCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_IB_TC=106\n"),
        files("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on,sm_on iommu=pt quiet\n"),
        (checks_pcie.places_of(SLOTS), IN_SYS),
        (checks_pcie.dump_of(SLOTS)[0], DUMP),
        files("/etc/environment", "PATH=/bin\n"),
        (src.DRIVER_LOADED, {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.16  Release\n"}),
        (src.MOUNTINFO, {"/proc/self/mountinfo": MOUNTS}),
        (src.MOUNTSTATS, {"/proc/self/mountstats": STATS}),
        (Digest("/etc/nccl.conf"), {"/etc/nccl.conf": "ab" * 32}),
        (src.GPUS, smi(*(gpu(n, slot) for n, slot in ((0, "1A"), (1, "2B"))))),
        (src.GPU_PCIE, smi("0, 5, 16, 16", "1, 5, 16, 16")),
        (src.GPU_ECC, smi("0, Enabled, 0, 0, 0, 3, 9, 0, 0", "1, Enabled, 0, 0, 0, 0, 0, 0, 0")),
        (src.GPU_ROWS, smi("00000000:1A:00.0, 2, No, No", "00000000:2B:00.0, 0, 0, 0")),
        (src.GPU_CLOCKS, smi("0, 0x0000000000000001", "1, 0x0000000000000004")),
        (src.GPU_CLOCKS_BEFORE_535_54, smi("0, 0x0000000000000001", "1, 0x0000000000000004")),
        (src.NVLINK, links(0) + links(1)),
        (src.GPU_TOPOLOGY, TOPOLOGY),
        (src.LSPCI, device("00", "PCI bridge: Intel") + device("1b", "Ethernet controller: NIC") + device("2c", "Ethernet controller: NIC")),
        (src.IP_ADDRESSES, json.dumps(ADDRESSES)),
        *((src.IP_RULES[version], json.dumps(RULES[version])) for version in (4, 6)),
        *((src.IP_ROUTES[version], json.dumps(ROUTES[version])) for version in (4, 6)),
        (src.IBV_DEVINFO, hca(0) + hca(1)),
        (src.IBSTAT, ib(0) + ib(1)),
        (src.SHOW_GIDS, GIDS),
        (src.LLDP, json.dumps({"lldp": {"interface": [neighbour(0), neighbour(1)]}})),
        (src.CHRONY, "Reference ID    : 0A010001\nSystem time     : 0.000012 seconds slow of NTP time\nLeap status     : Normal\n"),
        (src.CLOCK, "NTP=yes\nNTPSynchronized=yes\n"),
        (src.KERNEL_LOG, LOG),
        (src.HELD_APT, "libnccl2\nnvidia-open\n"),
        (src.dpkg([p.name for p in WANT.packages]), "nvidia-open\t580.126.16-1ubuntu1\tinstalled\nlibnccl2\t2.28.9-1+cuda13.0\tinstalled\n"),
        (src.dpkg(checks_driver.MANAGER_PACKAGES), "nvidia-fabricmanager\t580.126.16-1\tinstalled\nnvidia-fabricmanager-570\t\tnot-installed\n"),
        (checks_driver.FABRIC_MANAGER, unit("nvidia-fabricmanager.service")),
        (src.units(["nvidia-dcgm.service", "lldpd.service"]), unit("nvidia-dcgm.service") + "\n" + unit("lldpd.service")),
        (src.units(["fabric-fuse-mnt-scratch.service"]), unit("fabric-fuse-mnt-scratch.service")),
        (Probe("/mnt/scratch", WANT.host), ""),
        (Probe("/mnt/home", WANT.host), ""),
    ]
)  # fmt: skip
for pci in (*SLOTS.gpus, *SLOTS.nics):
    ends = (checks_pcie.link_of(pci), checks_pcie.port_of(pci))
    HEALTHY.update({end: pcie(end.pattern) for end in ends})
    HEALTHY.update([files(checks_pcie.class_of(pci).pattern, "0x030200\n" if pci in SLOTS.gpus else "0x020000\n")])
for nic in NICS:
    HEALTHY.update(
        [
            files(f"/sys/class/net/{nic.name}/operstate", "up\n"),
            files(f"/sys/class/net/{nic.name}/mtu", "9000\n"),
            *(files(f"/sys/class/net/{nic.name}/ecn/roce_{point}/enable/3", "0\n") for point in ("np", "rp")),
            files(f"/sys/kernel/config/rdma_cm/{nic.hca}/ports/1/default_roce_mode", "RoCE v2\n"),
            files(f"/sys/kernel/config/rdma_cm/{nic.hca}/ports/1/default_roce_tos", "106\n"),
            (src.ethtool(nic.name), f"Settings for {nic.name}:\n\tSpeed: 400000Mb/s\n\tLink detected: yes\n"),
            (src.ethtool_driver(nic.name), f"driver: mlx5_core\nfirmware-version: 28.39.1002\nbus-info: {nic.pci}\n"),
            (src.mlnx_qos(nic.name), qos()),
            (src.dcb_pfc(nic.name), json.dumps({"pfc-cap": 8, "prio-pfc": {str(n): n == 3 for n in range(8)}})),
            (src.dcb_app(nic.name), json.dumps({"dscp-prio": [[24, 3], [26, 3], [48, 6]]})),
            (src.cma_mode(nic.hca), "RoCE v2\n"),
            (src.cma_tos(nic.hca), "106\n"),
            (src.mlxconfig(nic.pci, KEYS), firmware()),
            (src.mstconfig(nic.pci, KEYS), firmware()),
        ]
    )  # fmt: skip
