"""How many more VMs of a machine type a zone can hold: unlimited until someone says otherwise."""

__all__ = ["Capacity"]


class Capacity:
    """Free capacity by (zone, machine type)."""

    def __init__(self) -> None:
        self._free: dict[tuple[str, str], int] = {}

    def set(self, zone: str, machine_type: str, available: int | None) -> None:
        """From now on so many more can start; None is without limit."""
        if available is None:
            self._free.pop((zone, machine_type), None)
        else:
            self._free[zone, machine_type] = available

    def take(self, zone: str, machine_type: str, count: int) -> bool:
        """All of `count`, or none of them."""
        free = self._free.get((zone, machine_type))
        if free is None:
            return True
        if free < count:
            return False
        self._free[zone, machine_type] = free - count
        return True

    def give_back(self, zone: str, machine_type: str) -> None:
        """One VM less."""
        if (zone, machine_type) in self._free:
            self._free[zone, machine_type] += 1

    def snapshot(self) -> dict[str, int]:
        """`zone/machineType` -> how many more, where there is a limit."""
        return {f"{zone}/{machine_type}": free for (zone, machine_type), free in sorted(self._free.items())}
