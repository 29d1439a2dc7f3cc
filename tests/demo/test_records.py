"""What a bystander can know of a run."""

from controller.demo.records import lives_of, time_of
from tests.demo.builders import at, make_life


def test_times_with_any_number_of_digits_are_read() -> None:
    assert time_of("2026-03-01T12:00:00Z") == at(0)
    assert time_of("2026-03-01T12:00:01.5Z") == at(1.5)
    assert time_of("2026-03-01T12:00:01.500000999Z") == at(1.5)


def test_lives_are_read_from_the_worlds_history_in_the_order_of_creation() -> None:
    body = {
        "name": "vm-a",
        "project": "p",
        "zone": "z",
        "createdAt": "2026-03-01T12:00:00.000000Z",
        "runningAt": ["2026-03-01T12:00:02.000000Z"],
        "tokens": [{"tokenId": "aaaaaa", "effectAt": "2026-03-01T12:00:03.000000Z"}],
        "deletedAt": None,
    }
    later = {**body, "createdAt": "2026-03-01T12:00:01Z", "deletedAt": "2026-03-01T12:00:09Z"}
    assert lives_of({"2": later, "1": body}) == (make_life(), make_life(instance_id="2", created=1, deleted=9))
