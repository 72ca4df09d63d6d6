"""The cases, one file per topic. `case.all_cases` imports every file in this folder."""
