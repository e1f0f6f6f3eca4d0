"""From results to the smallest explanation: which GPU, NIC, cable, host, switch or way is at fault; and what to measure next."""

from fabric.verify.locate.gates import Gate
from fabric.verify.locate.locate import locate
from fabric.verify.locate.plan import next_round

__all__ = ["Gate", "locate", "next_round"]
