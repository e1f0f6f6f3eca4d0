"""Hosts that are booted: systemd-nspawn containers in the network namespaces of lab hosts, for Ansible to provision."""
