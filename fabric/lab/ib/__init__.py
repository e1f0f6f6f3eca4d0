"""The InfiniBand part of the lab: `ibsim` with the designed net, real `opensm` with the rendered files, SSH boxes for the SM hosts."""
