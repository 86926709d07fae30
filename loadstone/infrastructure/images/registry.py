"""Pushes an image archive to a registry over its HTTP API; no engine is needed.

Source: the OCI distribution specification 1.0 ("Pushing blobs monolithically"), and Docker's token authentication.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

import requests
from docker import auth
from docker.errors import DockerException

from loadstone.infrastructure.images import archive
from loadstone.infrastructure.images.archive import Blob
from loadstone.model.errors import PreflightError

_PATIENCE_S = 60.0
_NUMERIC = re.compile(r"[\d.]+$|.*:")
"""An address rather than a name, which belongs to no domain."""


def trusted(registry: str | None) -> str:
    """The ``host:port`` of a study's registry, if engines must trust it without TLS; else empty."""
    there = Registry(registry) if registry else None
    return there.host if there is not None and there.plain else ""


class Registry:
    """Where images are pushed: ``registry.example.org:5000/loadstone``, with ``http://`` before it if it has no TLS.

    Registries on this machine (``localhost``, ``127.0.0.1``) are taken to have none, as Docker does.
    """

    def __init__(self, name: str) -> None:
        written = urlsplit(name if "://" in name else f"//{name}")
        self.host = written.netloc
        self.prefix = f"{self.host}{written.path}".rstrip("/")
        """What the names of images begin with."""
        local = re.match(r"(localhost|127(\.\d+){3})(:\d+)?$", self.host) is not None
        self.scheme = written.scheme or ("http" if local else "https")
        self._session = requests.Session()

    @property
    def plain(self) -> bool:
        """Whether it is used without TLS."""
        return self.scheme == "http"

    def push(self, file: Path, what: str, tag: str) -> tuple[str, str]:
        """Have the image of an archive as ``<prefix>/<what>:<tag>``; a tag that is there already is left as it is.

        Returns the digests of its configuration and of its manifest; raises PreflightError in the registry's words.
        """
        contents = archive.read(file)
        name = f"{self.prefix}/{what}".removeprefix(f"{self.host}/")
        self._sign_in(name)
        accept = {"Accept": archive.MANIFEST_TYPE}
        there = self._ask("GET", f"{name}/manifests/{tag}", 200, 404, headers=accept)
        if there.status_code == 200:
            return there.json()["config"]["digest"], _digest(there.content)
        with tarfile.open(file, "r:") as tar:
            for blob in (contents.config, *contents.layers):
                self._push_blob(name, blob, archive.open_blob(tar, blob))
            manifest = archive.open_blob(tar, contents.manifest).read()
        kind = {"Content-Type": archive.MANIFEST_TYPE}
        self._ask("PUT", f"{name}/manifests/{tag}", 201, data=manifest, headers=kind)
        return contents.config.digest, contents.manifest.digest

    def _push_blob(self, name: str, blob: Blob, content: IO[bytes]) -> None:
        there = self._ask("HEAD", f"{name}/blobs/{blob.digest}", 200, 404)
        if there.status_code == 200:
            return
        begun = self._ask("POST", f"{name}/blobs/uploads/", 202)
        place = urljoin(begun.url, begun.headers["Location"])
        kind = {"Content-Type": "application/octet-stream"}
        self._ask("PUT", place, 201, data=content, headers=kind, params={"digest": blob.digest})

    def _sign_in(self, name: str) -> None:
        """Sign in with this user's credentials (``docker login``), by the method that the registry requires."""
        answer = self._ask("GET", "", 200, 401, 404)
        challenge = answer.headers.get("WWW-Authenticate", "")
        if answer.status_code != 401:
            return
        try:
            known = auth.load_config().resolve_authconfig(self.host) or {}
        except (DockerException, ValueError) as error:  # its credential helper is not here, or an entry is damaged
            raise PreflightError(
                f"the password for the registry {self.host} cannot be read from Docker's settings: {error}",
                f"docker login {self.host}, or correct `credsStore` and `auths` in ~/.docker/config.json",
            ) from None
        user, password = (known.get(key) or known.get(key.capitalize()) for key in ("username", "password"))
        credentials = (str(user), str(password)) if user else None
        if not challenge.lower().startswith("bearer "):
            self._session.auth = credentials
            return
        challenge_fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        self._refuse_foreign(challenge_fields["realm"], bool(credentials))
        about = {"service": challenge_fields.get("service", ""), "scope": f"repository:{name}:pull,push"}
        given = self._ask("GET", challenge_fields["realm"], 200, params=about, auth=credentials).json()
        self._session.headers["Authorization"] = f"Bearer {given.get('token') or given.get('access_token')}"

    def _refuse_foreign(self, realm: str, credentials: bool) -> None:
        """Raise PreflightError where a password would go to another organisation's server, or without TLS.

        A registry names the server that gives out tokens: of the same host, or of the same domain by TLS
        (``auth.docker.io`` for ``registry-1.docker.io``).
        """
        to = urlsplit(urljoin(f"{self.scheme}://{self.host}/", realm))
        own, other = urlsplit(f"//{self.host}").hostname or "", to.hostname or ""
        domain = own.partition(".")[2] if own.count(".") > 1 and not _NUMERIC.match(own) else own
        same_host = other == own and to.scheme in (self.scheme, "https")
        same_domain = to.scheme == "https" and (other == domain or other.endswith(f".{domain}"))
        if credentials and not (same_host or same_domain):
            raise PreflightError(
                f"the registry {self.host} requests that its password is sent to {to.scheme}://{to.netloc}, which is "
                "another server; it was not sent",
                f"push to a registry whose token server is in its own domain, or `docker logout {self.host}`",
            )

    def _ask(self, method: str, path: str, *expected: int, **more: Any) -> requests.Response:
        try:
            answer = self._session.request(
                method, urljoin(f"{self.scheme}://{self.host}/v2/", path), timeout=_PATIENCE_S, **more
            )
        except requests.RequestException as error:
            remedy = "see that it runs; write http:// before its name if it has no TLS"
            raise PreflightError(f"the registry {self.host} cannot be reached: {error}", remedy) from None
        if answer.status_code in expected:
            return answer
        if answer.status_code in (401, 403):
            message = f"the registry {self.host} takes no images under {self.prefix} from you: {_error_text(answer)}"
            raise PreflightError(message, f"docker login {self.host}")
        raise PreflightError(f"the registry {self.host} failed: {method} {path}: {_error_text(answer)}")


def _error_text(answer: requests.Response) -> str:
    return f"{answer.status_code} {answer.text.strip()[:300]}".strip()


def _digest(manifest: bytes) -> str:
    return "sha256:" + hashlib.sha256(manifest).hexdigest()
