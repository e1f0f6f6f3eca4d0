# See fabric_host.pyi.
from playbooks.plugins.module_utils.fabric_found import *  # noqa: F403 - all of its names
