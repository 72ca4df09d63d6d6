"""Tables that lakebed writes, scenario by scenario, with the rows that every engine must find in them."""
