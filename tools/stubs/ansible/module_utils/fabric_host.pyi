# Ansible sends playbooks/plugins/module_utils/fabric_host.py along and gives it this name on the host; for mypy this is where it is.
from playbooks.plugins.module_utils.fabric_host import *  # noqa: F403 - all of its names
