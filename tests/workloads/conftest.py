"""What tests of readers share: good files of every format."""

import pytest

from tests.attacks.files import Reader, readers


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    """Return the readers that the attack on files knows, with good files of theirs."""
    return {reader.name: reader for reader in readers(tmp_path_factory.mktemp("good"))}
