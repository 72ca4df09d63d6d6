"""A fuzzer of the door: whatever a caller hands over, either the right rows are in the table or an error of ours says why and nothing changed.

A `case.Case` says what is handed over (`sources`), to what table (`tables`), with what words (`case.Deed`) and from which process (`processes`).
`drawn` draws cases, `model` says what must come of one, `run` does it and compares, `worker` keeps a process that may die of it,
`hours` goes on for as long as you like.
"""
