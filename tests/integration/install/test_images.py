"""What Dockerfile and compose.yaml say, read as text: no test builds an image."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
STAGES = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))


def extras(member: str) -> set[str]:
    project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
    return set(project.get("optional-dependencies", {}))


def installed(member: str) -> set[str]:
    (names,) = re.findall(rf'"\./{member}\[([\w,]+)\]"', DOCKERFILE)
    return set(names.split(","))


def test_the_agents_image_serves_every_engine() -> None:
    assert installed("agent") == extras("agent")


def test_the_services_image_has_what_its_extras_offer() -> None:
    assert installed("service") == extras("service")


def test_the_context_of_a_build_has_every_folder_that_is_copied() -> None:
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    copied = {source for line in lines for source in line.split()[:-1]}
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert copied == sent
    assert all((ROOT / name).exists() for name in sent)


def test_what_compose_builds_is_a_stage_of_the_dockerfile() -> None:
    built = [service["build"]["target"] for service in COMPOSE["services"].values() if "build" in service]
    assert built
    assert set(built) <= STAGES


def test_each_secret_of_compose_is_explained_where_the_images_are() -> None:
    explained = (ROOT / "docs" / "operate" / "images.md").read_text()
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].removeprefix("./") in explained


def test_the_service_is_reached_on_loopback_until_a_proxy_stands_in_front() -> None:
    assert all(port.startswith("127.0.0.1:") for port in COMPOSE["services"]["service"]["ports"])
