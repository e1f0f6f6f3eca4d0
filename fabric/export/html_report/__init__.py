"""One self-contained HTML page of what was found: no network, nothing to install, readable without colour and by keyboard."""

from fabric.export.html_report.page import Page, html_report

__all__ = ("Page", "html_report")
