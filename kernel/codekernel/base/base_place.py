"""Where a base lies in the store of a team, and whether that store can be written safely.

The table of LanceDB is beside the parts that workers write and the manifests of its builds.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from codekernel.domain.settings import BASE_NAME
from codekernel.errors import StorageError, WrongParam
from codekernel.sharing.object_store import (
    ObjectStore,
    StorePlace,
    StoreUnavailable,
    find_credentials,
)
from codekernel.sharing.team import OpenedStore
from codekernel.storage.base.base_table import TablePlace

BASES_PREFIX = "bases/1/"

# LanceDB waits longer and tries more often by itself than anybody who searches.
_LANCE_LIMITS = {"timeout": "10s", "connect_timeout": "2s", "client_max_retries": "1"}

# What the credentials of the store are called by LanceDB.
_OPTION_NAMES = {
    "access_key_id": "aws_access_key_id",
    "secret_access_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "account_name": "azure_storage_account_name",
    "account_key": "azure_storage_account_key",
    "application_credentials": "google_application_credentials",
}


class StoreUnsafe(StorageError):
    """The store would lose rows that two committers write at once."""


@dataclass(frozen=True, slots=True)
class BasePlace:
    """One base of a team."""

    name: str
    store: ObjectStore
    folder: str
    table: TablePlace


def find_base_place(opened: OpenedStore, name: str, environ: Mapping[str, str]) -> BasePlace:
    """Return where a base lies; nothing is contacted. Raises WrongParam, StoreUnavailable."""
    if not re.fullmatch(BASE_NAME, name):
        raise WrongParam(
            f'"{name}" is no name of a base: small letters, digits, dots, - and _, at most 64'
        )
    folder = f"{BASES_PREFIX}{opened.secret.tag}/{name}/"
    place = opened.store.place
    uri = f"{place.address.rstrip('/')}/{folder}table"
    return BasePlace(name, opened.store, folder, TablePlace(uri, _find_options(place, environ)))


def _find_options(place: StorePlace, environ: Mapping[str, str]) -> dict[str, str]:
    scheme = urlsplit(place.address).scheme
    if "://" not in place.address:
        return {}
    found = find_credentials(scheme, place, environ)
    options = {_OPTION_NAMES[name]: value for name, value in found.items()} | _LANCE_LIMITS
    if scheme == "s3":
        region = place.region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
        options["aws_region"] = region or "us-east-1"
    if place.endpoint:
        options["aws_endpoint" if scheme == "s3" else "azure_storage_endpoint"] = place.endpoint
        options["allow_http"] = str(place.endpoint.startswith("http://")).lower()
    return options


def require_conditional_writes(store: ObjectStore) -> None:
    """Write an object twice, the second time only if it is not there, which must be refused.

    A store that ignores the condition loses rows silently. Raises StoreUnsafe, StoreUnavailable.
    """
    name = f"probes/{secrets.token_hex(8)}"
    try:
        is_first = store.create(name, b"codekernel")
        is_refused = not store.create(name, b"another")
    finally:
        _delete_probe(store, name)
    if not (is_first and is_refused):
        raise StoreUnsafe(
            f"The team's store {store.place.address} does not refuse to overwrite what is there"
            " (If-None-Match). A base would lose rows in it, so none is written; what is there"
            " can be searched"
        )


def _delete_probe(store: ObjectStore, name: str) -> None:
    try:
        store.delete(name)
    except StoreUnavailable:
        return  # the reason of a failed probe is what is wanted
