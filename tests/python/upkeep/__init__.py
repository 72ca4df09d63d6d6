"""The shared parts of the tests of the log's upkeep: Delta Spark's view of a log, and tables with
many kinds of log entries.
"""
