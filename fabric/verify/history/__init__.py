"""What every `fabric validate` found, kept: one SQLite file a cluster, in the state folder.

Read for one part, for repeat offenders, and for what changed since the last good run.
"""

from fabric.verify.history.append import record
from fabric.verify.history.faults import Episode, Told
from fabric.verify.history.lemons import Offender, offenders
from fabric.verify.history.names import What, what_of
from fabric.verify.history.outcomes import outcome_of
from fabric.verify.history.since import Change, Since, since_good
from fabric.verify.history.store import History, Run, Stamp, history_file
from fabric.verify.history.timeline import Speed, Story, story

__all__ = (
    "Change",
    "Episode",
    "History",
    "Offender",
    "Run",
    "Since",
    "Speed",
    "Stamp",
    "Story",
    "Told",
    "What",
    "history_file",
    "offenders",
    "outcome_of",
    "record",
    "since_good",
    "story",
    "what_of",
)
