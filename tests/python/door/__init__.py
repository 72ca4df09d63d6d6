"""A fuzzer of the Python API: a call either stores exactly the given rows, or raises a lakebed
error and leaves the table unchanged.

A `case.Case` holds the data (`sources`), the table (`tables`), the call (`deeds`) and the process
that makes the call (`processes`). `drawn` draws cases. `model` computes the expected outcome of a
case. `run` runs a case and compares. `worker` runs cases in a child process, so that a crash is
reported with its case. `hours` is the long run behind `make fuzz-door`.
"""
