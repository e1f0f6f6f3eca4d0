"""A pytest plugin for `.ci/run`: where the virtual lab must be there, a skipped lab test is a failure.

On a laptop a test with the marker `lab` may skip, since not everyone is root. In CI the same skip would hide that
nothing was tested. Use: `python -m pytest -p tools.lab_gate`; works with and without xdist.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

_FLAG = "lab_test"  # an attribute of the report, since xdist hands reports, not items, to the process that decides


class _Gate:
    """Collects the node ids of lab tests that were skipped."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail") and getattr(report, _FLAG, False):
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # A module that skips itself whole never gets as far as its markers; its folder says what it is.
        if report.skipped and report.nodeid.startswith("tests/lab/"):
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.skipped:
            terminalreporter.write_line(f"LAB TEST SKIPPED (not allowed in this run): {nodeid}", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Mark the report of each lab test, in the process that runs it."""
    report = yield
    setattr(report, _FLAG, item.get_closest_marker("lab") is not None)
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Put the gate into the process that decides the exit code: not into xdist's workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Gate(), "lab_gate_collector")
