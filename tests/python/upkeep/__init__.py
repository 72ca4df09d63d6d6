"""What the tests of the log's upkeep share: Delta Spark's own view of a log, and tables with something of everything in their logs."""
