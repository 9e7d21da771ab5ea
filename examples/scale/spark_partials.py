"""Reads the traces of a folder with Spark and then writes the report of all ranks.

    spark-submit spark_partials.py FOLDER [SHARES]

The folder must be visible on all executors under the same path, and gputally must be on their PATH (or named by the variable
GPUTALLY). SHARES (default 64) tasks share the traces.
"""
import os
import subprocess
import sys

from pyspark.sql import SparkSession

GPUTALLY = os.environ.get("GPUTALLY", "gputally")


def read_share(share):
    """Runs on an executor. Returns what the program prints: the partials, and the traces that it cannot read."""
    number, count, folder = share
    done = subprocess.run([GPUTALLY, "partial", folder, "--share", f"{number}/{count}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def main():
    folder, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64
    spark = SparkSession.builder.appName("gputally").getOrCreate()
    shares = [(number, count, folder) for number in range(count)]
    for text in spark.sparkContext.parallelize(shares, numSlices=count).map(read_share).collect():
        print(text, end="")
    spark.stop()
    return subprocess.run([GPUTALLY, "merge", folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
