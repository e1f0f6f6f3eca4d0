"""Does the network do what the spec declares: checks that give findings, from what live devices say of themselves."""
