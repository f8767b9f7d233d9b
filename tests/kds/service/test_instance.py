"""The lock, the socket and the state file of the user's service."""

import json
import socket
import stat
from pathlib import Path

import pytest

from kds.brain.errors import StoreError
from kds.service.errors import AlreadyServedError, ServiceError
from kds.service.lifecycle import Instance
from kds.service.service_client import ServiceAddress

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets here")


@pytest.fixture
def place() -> ServiceAddress:
    """Where the user's service is."""
    return ServiceAddress()


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True


def test_a_user_is_served_once_and_a_refused_claim_leaves_the_other_service_alone(
    place: ServiceAddress,
) -> None:
    first = Instance.claim(place)
    first.announce({"pid": 4711})
    with first.bind():
        with pytest.raises(AlreadyServedError, match="process 4711 serves this user already"):
            Instance.claim(place)
        assert connects(first.address.socket_path)
        assert first.address.state_path.exists()
    first.release()
    Instance.claim(place).release()


def test_what_a_killed_service_left_is_taken_over(place: ServiceAddress) -> None:
    killed = Instance.claim(place)
    killed.bind().close()  # nobody removes it
    killed.release()
    place.state_path.write_text('{"pid": 1}')
    place.hung_path.touch()
    instance = Instance.claim(place)
    assert {path.name for path in place.folder.iterdir()} == {"service.lock"}
    with instance.bind():
        assert connects(instance.address.socket_path)
        assert stat.S_IMODE(place.socket_path.stat().st_mode) == 0o600
    instance.release()


def test_a_socket_that_cannot_be_made_names_the_way_out(place: ServiceAddress) -> None:
    instance = Instance.claim(place)
    instance.address.socket_path.mkdir()
    (instance.address.socket_path / "file").touch()
    with pytest.raises(ServiceError, match="cannot make the socket") as caught:
        instance.bind()
    assert "--no-socket" in str(caught.value.hint)
    instance.release()


def test_the_state_file_is_private_and_goes_with_the_service(place: ServiceAddress) -> None:
    instance = Instance.claim(place)
    instance.announce({"pid": 1, "http": None})
    path = instance.address.state_path
    assert json.loads(path.read_bytes()) == {"pid": 1, "http": None}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    instance.withdraw()
    assert not path.exists()
    instance.release()


def test_a_folder_that_others_could_write_to_is_made_private(place: ServiceAddress) -> None:
    place.folder.mkdir(mode=0o777)
    place.folder.chmod(0o777)
    Instance.claim(place).release()
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_the_folder_is_refused(
    place: ServiceAddress, tmp_path: Path
) -> None:
    place.folder.symlink_to(tmp_path)
    with pytest.raises(StoreError, match="is a link"):
        Instance.claim(place)
