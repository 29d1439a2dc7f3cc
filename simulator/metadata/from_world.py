"""The world's VMs as the metadata server and the guests see them."""

from simulator.metadata.machines import Machine, ServiceAccount
from simulator.world import Instance, UnknownInstanceError, World
from simulator.world.names import project_number


class WorldMachines:
    """`Machines` over the world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def machine(self, instance_id: str) -> Machine | None:
        """The VM as it is now, None when there is none of this id."""
        instance = self._world.instance(instance_id)
        return None if instance is None else self._view(instance)

    async def changed(self, machine: Machine) -> Machine | None:
        """The VM as soon as its attributes differ from those of `machine`; None when it is gone, or goes."""
        try:
            await self._world.metadata_changed(machine.id, machine.etag)
        except UnknownInstanceError:
            return None
        return self.machine(machine.id)

    def _view(self, instance: Instance) -> Machine:
        metadata = self._world.instance_metadata(instance.id)
        accounts = [ServiceAccount(str(item["email"]), tuple(item["scopes"])) for item in instance.service_accounts]
        return Machine(
            id=instance.id,
            name=instance.name,
            project=instance.project,
            project_number=project_number(instance.project),
            zone=instance.zone,
            machine_type=instance.machine_type,
            attributes=metadata.items,
            etag=metadata.etag,
            # A VM has at most one account.
            service_account=accounts[0] if accounts else None,
            address=str(instance.shape["networkInterfaces"][0]["networkIP"]),
            joins_by_itself=instance.joins,
        )
