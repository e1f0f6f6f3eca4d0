"""The design in other tools' forms."""
