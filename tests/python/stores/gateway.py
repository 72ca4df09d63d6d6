"""An S3 store on this machine: versitygw. It keeps put-if-absent under races, and it stores each
object as a plain file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from stores.programs import HOST, Program, serve

VERSITYGW = Program("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0")
_BUCKET, _KEY, _SECRET = "lake", "testkey", "testsecret"


@dataclass(frozen=True)
class S3:
    """A bucket, with its address for clients and its folder on the disk."""

    port: int
    #: The folder of the bucket. It has all stored objects, including those of requests that seemed
    #: to fail.
    folder: Path
    #: One line per request, as in the access logs of S3.
    access_log: Path

    @property
    def options(self) -> dict[str, str]:
        """The storage options, which lakebed and deltalake share."""
        return {
            "aws_access_key_id": _KEY,
            "aws_secret_access_key": _SECRET,
            "aws_region": "us-east-1",
            "aws_endpoint": f"http://{HOST}:{self.port}",
            "aws_allow_http": "true",
        }

    def uri(self, table: str) -> str:
        return f"s3://{_BUCKET}/{table}"

    def stored(self, table: str) -> Counter[str]:
        """Returns how often each object of a table was written, including writes with lost answers."""
        puts = re.findall(rf" s3_PutObject ({re.escape(table)}/\S+) \S+ 200 ", self.access_log.read_text())
        return Counter(puts)

    def refused(self, table: str) -> Counter[str]:
        """Returns how often a write of each object of a table was refused because the object
        existed.
        """
        return Counter(re.findall(rf" s3_PutObject ({re.escape(table)}/\S+) \S+ 412 ", self.access_log.read_text()))

    def through(self, port: int) -> S3:
        """Returns the same bucket behind a proxy."""
        return replace(self, port=port)


@contextmanager
def run(folder: Path) -> Iterator[S3]:
    """Runs a store with one empty bucket below `folder`."""
    bucket, access_log = folder / "buckets" / _BUCKET, folder / "access.log"
    bucket.mkdir(parents=True)

    def arguments(port: int) -> list[str]:
        account = ["--access", _KEY, "--secret", _SECRET]
        return [
            "--port",
            f"{HOST}:{port}",
            *account,
            "--quiet",
            "--keep-alive",
            "--access-log",
            str(access_log),
            "posix",
            str(bucket.parent),
        ]

    with serve(VERSITYGW, arguments, folder / "versitygw.log") as port:
        yield S3(port, bucket, access_log)
