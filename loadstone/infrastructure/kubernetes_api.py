"""The API of a Kubernetes cluster through the official client: manifests in, plain data out."""

from __future__ import annotations

import json
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import urlencode

import yaml
from kubernetes import config
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from loadstone.infrastructure import temporary
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.failover import Refused, Servers, Unable, Unreachable
from loadstone.model.errors import PreflightError

OWNER = "loadstone"
"""Whose fields those are that we apply (server-side apply)."""

_ANSWER_S = (5.0, 30.0)
"""To connect, and for an answer."""
_OVERLOADED = (429, 500, 502, 503, 504)
_PATIENCE_S = 5.0
_ELECTION_S = 60.0
"""Time in which the other managers elect a leader when one is lost, on a machine that is busy too."""


class KubernetesApi:
    """One cluster.

    ``kubeconfigs``: one for each API server. ``direct``: through no proxy, whatever the environment says.
    ``patience_s``: for how long it is tried again while none answers. Raises PreflightError for a kubeconfig that is
    none.
    """

    def __init__(
        self, kubeconfigs: Sequence[str], context: str | None = None, direct: bool = False, patience_s: float = 0.0
    ) -> None:
        self._servers = Servers(_client(file, context, direct) for file in kubeconfigs)
        self._patience_s = patience_s

    @property
    def host(self) -> str:
        """The URL of the API server that answered last."""
        return str(self._servers.first.configuration.host)

    def get(self, path: str, **query: str) -> Any:
        """An object or a list; raises Refused with status 404 where there is none."""
        return json.loads(self._ask("GET", path, query))

    def text(self, path: str, **query: str) -> str:
        """An answer that is no JSON: a log."""
        return self._ask("GET", path, query, patient=False).decode(errors="replace")

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The items of a list."""
        return list(self.get(path, **query)["items"])

    def apply(self, manifest: dict[str, Any], dry_run: bool = False) -> Any:
        """Make an object, or make it what the manifest says."""
        query = {"fieldManager": OWNER, "force": "true", **({"dryRun": "All"} if dry_run else {})}
        answer = self._ask("PATCH", path_of(manifest), query, manifest, "application/apply-patch+yaml")
        return json.loads(answer)

    def create(self, path: str, body: dict[str, Any]) -> Any:
        """POST a review, such as a SelfSubjectAccessReview: the answer has its ``status``, and nothing is stored."""
        return json.loads(self._ask("POST", path, {}, body))

    def merge(self, path: str, body: dict[str, Any]) -> None:
        """Change some fields of an object."""
        self._ask("PATCH", path, {}, body, "application/merge-patch+json")

    def delete(self, path: str, **query: str) -> None:
        """Begin to delete an object; one that is not there is no error."""
        try:
            self._ask("DELETE", path, query)
        except Refused as error:
            if error.status != 404:
                raise

    def _ask(
        self, method: str, path: str, query: dict[str, str], body: Any = None, kind: str = "", patient: bool = True
    ) -> bytes:
        def request(client: ApiClient) -> bytes:
            host = str(client.configuration.host)
            try:
                return _ask_one(client, method, path, query, body, kind)
            except (HTTPError, OSError, ssl.SSLError) as error:
                raise _unreachable(host, error) from None
            except ApiException as error:
                if error.status not in _OVERLOADED:
                    raise _refusal(host, error) from None
                raise Unable(f"the Kubernetes API at {host} does not work: {_error_text(error)}") from None

        return self._servers.ask(request, self._patience_s if patient else 0)


def _ask_one(client: ApiClient, method: str, path: str, query: dict[str, str], body: Any, kind: str) -> bytes:
    headers = {"Accept": "application/json, */*", **({"Content-Type": kind} if kind else {})}
    where = f"{path}?{urlencode(query)}" if query else path
    request = client.param_serialize(method, where, header_params=headers, body=body, auth_settings=["BearerToken"])
    response = client.call_api(*request, _request_timeout=_ANSWER_S)
    response.read()  # type: ignore[no-untyped-call]
    if not 200 <= response.status <= 299:
        raise ApiException(http_resp=response)
    return response.data or b""


def _unreachable(host: str, error: Exception) -> Unreachable:
    return Unreachable(
        f"the Kubernetes API at {host} cannot be reached: {_reason(error)}",
        "is the cluster running, and is this its kubeconfig? check with `kubectl cluster-info`",
    )


def _refusal(host: str, error: ApiException) -> Refused:
    if error.status == 401:
        remedy = "log in again, or choose another context: kubectl config get-contexts"
        return Refused(401, f"the Kubernetes API at {host} does not accept your credentials", remedy)
    remedy = "ask who runs the cluster for the right to do that" if error.status == 403 else ""
    return Refused(error.status or 0, f"Kubernetes: {_error_text(error)}", remedy)


def connect(access: Access) -> KubernetesApi:
    """The API of a cluster that is in use: patient, the more so where another server can take over."""
    patience_s = _PATIENCE_S if len(access.addresses) == 1 else _ELECTION_S
    return KubernetesApi(
        access.addresses, access.extra.get("context"), direct=bool(access.cluster), patience_s=patience_s
    )


def current_context(kubeconfig: str) -> str:
    """The name of the context that a kubeconfig chooses; raises PreflightError for a kubeconfig that is none."""
    with _usable(kubeconfig):
        _, chosen = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]
        return str(chosen["name"])


def not_ready(node: dict[str, Any] | None) -> str:
    """Why a node of the API's list cannot run anything; empty if it can."""
    if node is None:
        return "it has not joined"
    ready = next(
        (condition for condition in node["status"].get("conditions", []) if condition["type"] == "Ready"), None
    )
    if ready is None or ready["status"] == "True":
        return "" if ready else "its kubelet has not reported its state"
    return str(ready["message"])


def _reason(error: BaseException | None) -> str:
    """The operating system's own word, which lies below several layers of exceptions."""
    text = str(error).rpartition(": ")[2] or type(error).__name__
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            return str(error.strerror)
        error = error.__cause__ or error.__context__
    return text


def _error_text(error: ApiException) -> str:
    """The API's own words."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.body or error.reason or "").strip()[:300]


def path_of(manifest: dict[str, Any]) -> str:
    """Where the object of a manifest lies in the API."""
    version, meta = manifest["apiVersion"], manifest["metadata"]
    root = "apis" if "/" in version else "api"
    within = f"namespaces/{meta['namespace']}/" if "namespace" in meta else ""
    return f"/{root}/{version}/{within}{manifest['kind'].lower()}s/{meta['name']}"


def _client(kubeconfig: str, context: str | None, direct: bool) -> ApiClient:
    settings = Configuration()
    if direct:
        settings.no_proxy = "*"
    with _usable(kubeconfig):
        config.load_kube_config(  # type: ignore[no-untyped-call]
            kubeconfig,
            context=context,
            client_configuration=settings,
            persist_config=False,
            temp_file_path=_credentials().name,
        )
    settings.retries = False  # we do that, with another server if there is one
    return ApiClient(settings)


@cache
def _credentials() -> tempfile.TemporaryDirectory[str]:
    """Where the client writes keys of kubeconfigs, which TLS reads from files; swept where this process is killed."""
    return temporary.directory("kubeconfig")


@contextmanager
def _usable(kubeconfig: str) -> Iterator[None]:
    """Raises PreflightError for whatever the client makes of a file that is no kubeconfig."""
    try:
        yield
    except (ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise PreflightError(
            f"{kubeconfig} is no usable kubeconfig: {str(error).splitlines()[0]}",
            "set KUBECONFIG to the file of your cluster; `kubectl config view` shows what is in it",
        ) from None
