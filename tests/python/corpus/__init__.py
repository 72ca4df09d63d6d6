"""The reference corpus: tables that Delta Spark writes, and the results that Delta Spark reads from
them.

Each file in `topics/` registers cases. A case is a function that makes one table with several
versions. `build.py` runs the cases that the cache lacks in one Spark session. `oracle.py` stores
beside each table what Spark reads from it: rows, schema, history, detail, and the rows of each
predicate. Comparing a reader with the corpus needs no Spark. Read `case.py` first, then one topic,
then `oracle.py`. Damaged tables are in `test_damage.py`.

`python -m corpus` builds everything. `python -m corpus NAME...` builds cases by name and prints the
results of Spark.
"""
