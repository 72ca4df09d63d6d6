"""The cases, one file per topic. `case.all_cases` imports every file here; nothing else needs to know of a new one."""
