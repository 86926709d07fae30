"""Every store of a deployment demands its password, which stands in no argument; MongoDB by the key of its server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loadstone.model.software import STORE_PASSWORD, StoreSoftware, built_in

STORES = {name: software for name, software in built_in().software.items() if not (software.in_front or software.stack)}
SCRIPTS = {
    "docker-entrypoint.sh": '#!/bin/sh\necho "entrypoint"\nexec "$@"\n',
    "mongod": '#!/bin/sh\necho "$*"\nwhile [ "$1" != --keyFile ]; do shift; done\nstat -c %a "$2"\ncat "$2"\nenv\n',
}


WITHOUT = ("memcached", "couchdb-stand-in")
"""Without SASL memcached knows no password; the stand-in holds a database that all may write, as CouchDB's is here."""


@pytest.mark.parametrize("name", [name for name in STORES if name not in WITHOUT])
def test_a_store_demands_the_password_which_is_in_no_argument(name: str) -> None:
    software = STORES[name]
    assert software.process is not None and software.has_password(container=False) and software.has_password(True)
    arguments = [*software.process.command, *software.container.command]
    assert not [word for word in arguments if STORE_PASSWORD in word]


@pytest.mark.parametrize("official", [True, False])
def test_a_container_of_mongodb_starts_with_the_key_for_its_user_alone(official: bool, tmp_path: Path) -> None:
    software: StoreSoftware = STORES["mongodb"]
    for name in SCRIPTS if official else ["mongod"]:
        (tmp_path / name).write_text(SCRIPTS[name])
        (tmp_path / name).chmod(0o755)
    command = [word.replace("/tmp/key", f"{tmp_path}/key") for word in software.container.command]
    environment = {"PATH": f"{tmp_path}:{os.defpath}"} | software.container.environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    *before, arguments, mode, key = done.stdout.partition("\nPATH=")[0].splitlines()[: 4 if official else 3]
    assert before == (["entrypoint"] if official else [])
    assert arguments.startswith("--bind_ip_all ") and "--setParameter enableLocalhostAuthBypass=false" in arguments
    assert (mode, key) == ("600", STORE_PASSWORD) and done.stdout.count(STORE_PASSWORD) == 1
    assert done.stderr == ""


def test_the_url_of_mongodb_names_the_user_of_its_key() -> None:
    assert STORES["mongodb"].address("db", 27017, container=True) == "mongodb://__system@db:27017/?authSource=local"
