"""The reference corpus: tables that Delta Spark writes, with what Delta Spark reads from them.

Each file in `topics/` registers cases; a case is a function that makes one table with several versions. `build.py` runs
those that are not in the cache yet inside one Spark session, and `oracle.py` keeps beside each table what Spark reads from
it: rows, schema, history, detail, the rows of each predicate. Comparing a reader with the corpus needs no Spark.
Read `case.py` first, then one topic, then `oracle.py`. What a *broken* table must do is not here but in `test_damage.py`.

`python -m corpus` builds everything, `python -m corpus NAME...` builds cases by name and prints what Spark read.
"""
