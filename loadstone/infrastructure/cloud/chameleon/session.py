"""The connection to an OpenStack cloud by the user's own clouds.yaml or environment, and what its errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import openstack
from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk

from loadstone.model.errors import DeploymentError, LoadstoneError, PreflightError

_WITHIN_S = 60
_SECRETS = ("password", "token", "application_credential_secret", "passcode", "client_secret")
_CREDENTIALS = "get new ones (openrc, clouds.yaml), and see that `openstack token issue` works"


def connect(site: str | None) -> Any:
    """The connection; nothing is sent yet. Raises PreflightError without usable credentials."""
    with explained(site or "OpenStack"):
        return openstack.connect(cloud=site, api_timeout=_WITHIN_S, app_name="loadstone")


@contextlib.contextmanager
def explained(what: str, connection: Any = None) -> Iterator[None]:
    """Turn errors of the libraries into messages with a remedy, without secrets; ``what`` was to be done."""
    try:
        yield
    except LoadstoneError:
        raise
    except (sdk.ConfigException, keystone.MissingRequiredOptions, keystone.auth_plugins.MissingAuthPlugin) as error:
        raise PreflightError(
            f"{what}: no usable credentials: {_clean(error, connection)}",
            "write clouds.yaml, name its cloud in cluster.instances.site or $OS_CLOUD, or source the project's openrc",
        ) from None
    except (keystone.HttpError, sdk.HttpException) as error:
        raise _refused(what, error, connection) from None
    except keystone.EndpointNotFound as error:
        raise PreflightError(f"{what}: {_clean(error, connection)}", "see which services and regions it has") from None
    except (keystone.ConnectFailure, keystone.RetriableConnectionFailure, keystone.ClientException) as error:
        raise DeploymentError(
            f"{what}: it does not answer: {_clean(error, connection)}", "see its status page, and try again"
        ) from None
    except sdk.SDKException as error:
        raise DeploymentError(f"{what}: {_clean(error, connection)}") from None


def _refused(what: str, error: Exception, connection: Any) -> LoadstoneError:
    status = int(getattr(error, "status_code", None) or getattr(error, "http_status", None) or 0)
    text = _clean(error, connection)
    if status == 401:
        return PreflightError(f"{what}: the credentials are refused, or have expired: {text}", _CREDENTIALS)
    if "uota" in text:
        return PreflightError(f"{what}: {text}", "give back what you do not need, or ask for a larger quota")
    if "ot enough" in text or "No valid host" in text:
        return PreflightError(f"{what}: {text}", NO_MACHINES)
    if status == 403:
        return PreflightError(f"{what}: this project may not do that: {text}", "see that it is the right project")
    if status >= 500:
        return DeploymentError(f"{what}: the cloud has failed: {text}", "see its status page, and try again")
    return DeploymentError(f"{what}: {text}")


NO_MACHINES = "wait until some are free (see the site's calendar of leases), take fewer, or another instances.type"


def _clean(error: Exception, connection: Any) -> str:
    """The first line of a message, without the values of secrets."""
    text = str(getattr(error, "details", None) or getattr(error, "message", None) or error).strip()
    text = text.splitlines()[0] if text else type(error).__name__
    auth = connection.config.config.get("auth", {}) if connection is not None else {}
    for key in _SECRETS:
        if auth.get(key):
            text = text.replace(str(auth[key]), "***")
    return text


def check(answer: Any) -> None:
    """Raise the library's own error for an answer that is none of success."""
    sdk.raise_from_response(answer)
