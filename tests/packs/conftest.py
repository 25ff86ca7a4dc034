"""The world of these tests; its first commit has a pack, which is built once."""

import shutil
from pathlib import Path

import pytest
from packs.packs_world import PackWorld


@pytest.fixture(scope="session")
def _built_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = PackWorld(tmp_path_factory.mktemp("built"))
    world.build()
    return world.store_folder


@pytest.fixture
def bare_world(tmp_path: Path) -> PackWorld:
    return PackWorld(tmp_path)


@pytest.fixture
def world(bare_world: PackWorld, _built_store: Path) -> PackWorld:
    shutil.copytree(_built_store, bare_world.store_folder, dirs_exist_ok=True)
    return bare_world
