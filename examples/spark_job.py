"""Load files into a store on a Spark cluster, and write the closure as Parquet for other jobs.

spark-submit examples/spark_job.py STORE FILE.. --out FOLDER
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from triplake import Store
from triplestore.storage.versions import Versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="the folder or URL of the store; it is made if there is none")
    parser.add_argument("files", nargs="+", help="RDF files, folders or globs")
    parser.add_argument("--rules", default="owl2rl", help="the ruleset of a new store")
    parser.add_argument("--out", required=True, help="where the closure is written: s, p, o as N-Triples writes them")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("triplake").getOrCreate()
    if Versions(given.store).exists():
        store = Store.open(given.store, spark=spark)
    else:
        store = Store.create(given.store, rules=given.rules, spark=spark)
    with store:
        report = store.load(*given.files)
        print(f"read {report.triples:,} triples")
        store.facts_df(terms=True).write.mode("overwrite").parquet(given.out)
        print(f"wrote {spark.read.parquet(given.out).count():,} facts to {given.out}")


if __name__ == "__main__":
    main()
