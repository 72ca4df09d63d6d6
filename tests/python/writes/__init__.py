"""Tables that lakebed writes, one per scenario, with the rows that every engine must read from
them.
"""
