"""fabric: declare a GPU cluster's network once; design it, render it, change it safely, prove it."""

__version__ = "0.1.0"
