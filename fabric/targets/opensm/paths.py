"""Where the files of a subnet manager stand on its host."""

from __future__ import annotations

FOLDER = "/etc/opensm"
CONF = f"{FOLDER}/opensm.conf"
PARTITIONS = f"{FOLDER}/partitions.conf"
ROOTS = f"{FOLDER}/root_guids"
COMPUTE = f"{FOLDER}/cn_guids"
IO = f"{FOLDER}/io_guids"
ORDER = f"{FOLDER}/guid_routing_order"
NAMES = f"{FOLDER}/node-name-map"
QOS = f"{FOLDER}/qos-policy.conf"
LOG = "/var/log/opensm.log"

GROUPS = f"{FOLDER}/pgrp_policy.conf"
TOPOLOGY = f"{FOLDER}/topoconfig.conf"
USER_PARTITIONS = f"{FOLDER}/partitions.conf.user_ext"
SHARP = f"{FOLDER}/sharp_am.cfg"
UFM = f"{FOLDER}/gv.cfg.fragment"
