"""The access of a worker to the store. Secrets in options that Spark would send are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakebed import _lakebed, arguments
from lakebed.errors import InvalidInputError

__all__ = ["Access", "Credentials"]

#: A shorter string may occur in a function by chance.
_LEAST_SECRET = 8

#: Called when a store is opened, and again before the returned options expire.
Credentials = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Access:
    """Options of the store and the function that provides credentials.

    Spark's plans contain it, pickled, so it holds no secret. The function travels as code, and each
    worker calls it. Without one, a worker finds credentials in its own environment.
    """

    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    credentials: Credentials | None = field(default=None, repr=False)
    #: Whether to follow paths out of the table's root, which shallow clones have.
    absolute_paths: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Access:
        """Returns the access for the arguments of a call."""
        storage_options = arguments.strings("storage_options", options.get("storage_options"))
        return cls(storage_options, options.get("credentials"), options.get("absolute_paths", False))

    def __post_init__(self) -> None:
        secrets = sorted(name for name, value in self.storage_options.items() if _may_be_secret(name, value))
        if secrets:
            raise InvalidInputError(
                f"storage_options has {', '.join(secrets)}: these options may be secrets, and Spark would send them to other processes in its "
                "plans. Pass credentials=, a function that returns them: each worker calls it. Or set them in the environment of the workers"
            )
        if self.credentials is not None:
            if not callable(self.credentials):
                raise TypeError(
                    f"credentials must be a function that returns options of the store, not a {type(self.credentials).__name__}: each worker calls it"
                )
            _refuse_carried(self.credentials)

    def options(self) -> dict[str, Any]:
        """Returns the keyword arguments of `lakebed.Table`, `lakebed.read_task` and other functions
        that open a store.
        """
        return {
            "storage_options": dict(self.storage_options),
            "credentials": self.credentials,
            "absolute_paths": self.absolute_paths,
        }


def _refuse_carried(credentials: Credentials) -> None:
    """Refuses a function that contains a secret, in a closure or as a constant."""
    from pyspark.serializers import CloudPickleSerializer

    try:
        found = dict(credentials())
    except Exception:
        return  # Opening the store will raise the error.
    pickled: bytes = CloudPickleSerializer().dumps(credentials)  # type: ignore[no-untyped-call]
    carried = sorted(
        name
        for name, value in found.items()
        if isinstance(value, str) and len(value) >= _LEAST_SECRET and value.encode() in pickled and _may_be_secret(name, value)
    )
    if carried:
        raise InvalidInputError(
            f"credentials= contains what it returns ({', '.join(carried)}), and Spark would send that to other processes in its plans: the function has "
            "it in a closure or as a constant. Fetch the secret when the function is called, from the environment, a file or a secret store"
        )


def _may_be_secret(name: str, value: str) -> bool:
    """Returns whether a storage option may hold a secret. Every option that is not known to be
    harmless may.
    """
    option = {name: value}
    return _lakebed.options_without_secrets(option) != option
