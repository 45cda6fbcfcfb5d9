from support.fleets import codes, fleet_with, override, value_on


def test_an_override_beats_the_preset() -> None:
    fleet = fleet_with(
        override=override("more", "[{path: replicas, value: 5}]", "clusterSelector: {clusterNames: [eu-1]}")
    )
    assert (value_on(fleet, "eu-1", "replicas"), value_on(fleet, "eu-2", "replicas")) == (5, 2)
    assert codes(fleet) == []
