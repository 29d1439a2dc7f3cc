"""An argument leads to the resources that its value comes from."""

from typing import Any, Final

from simulator.plan.references import sources
from simulator.plan.resources import Plan

Json = dict[str, Any]


def resource(address: str, *, key: str | int | None = None, module: str = "", **values: Any) -> Json:
    kind, name = address.split(".")
    shown = address if key is None else f"{address}[{key if isinstance(key, int) else f'{chr(34)}{key}{chr(34)}'}]"
    made = {"address": f"{module}{shown}", "mode": "managed", "type": kind, "name": name, "values": values}
    return made if key is None else made | {"index": key}


def configured(address: str, **expressions: list[str]) -> Json:
    refers = {name: {"references": names} for name, names in expressions.items()}
    each = refers.pop("for_each", None)
    made: Json = {"address": address, "expressions": refers}
    return made | ({"for_each_expression": each} if each else {})


def lead(plan: Json, address: str, argument: str) -> list[str]:
    read = Plan(plan)
    found = next(each for each in read.resources if each.address == address)
    return [each.address for each in sources(read, found, argument)]


def test_a_reference_leads_to_the_resource_of_its_own_module() -> None:
    plan = {
        "planned_values": {"root_module": {"resources": [resource("t.a"), resource("t.b"), resource("m.x")]}},
        "configuration": {"root_module": {"resources": [configured("m.x", of=["t.a.id", "t.a"])]}},
    }
    assert lead(plan, "m.x", "of") == ["t.a"]
    assert lead(plan, "m.x", "nothing") == []


def test_of_several_instances_an_index_means_one_and_a_common_key_the_one_that_has_it() -> None:
    there = [resource("t.a", key="x"), resource("t.a", key="y"), resource("m.n", key="y"), resource("m.o")]
    plan = {
        "planned_values": {"root_module": {"resources": there}},
        "configuration": {
            "root_module": {
                "resources": [
                    configured("m.n", of=["t.a", "each.key"], at=['t.a["x"].id', 't.a["x"]', "t.a"]),
                    configured("m.o", of=["t.a"]),
                ]
            }
        },
    }
    assert lead(plan, 'm.n["y"]', "of") == ['t.a["y"]']
    assert lead(plan, 'm.n["y"]', "at") == ['t.a["x"]']
    assert lead(plan, "m.o", "of") == ['t.a["x"]', 't.a["y"]']


MODULES: Final[Json] = {
    "planned_values": {
        "root_module": {
            "child_modules": [
                {"address": 'module.p["g"]', "resources": [resource("t.a", module='module.p["g"].')]},
                {"address": 'module.p["h"]', "resources": [resource("t.a", module='module.p["h"].')]},
                {
                    "address": 'module.q["h"]',
                    "resources": [
                        resource("m.x", module='module.q["h"].'),
                        resource("m.y", key="only", module='module.q["h"].'),
                    ],
                },
            ]
        }
    },
    "configuration": {
        "root_module": {
            "module_calls": {
                "p": {
                    "module": {
                        "resources": [configured("t.a")],
                        "outputs": {"id": {"expression": {"references": ["t.a.id", "t.a"]}}},
                    }
                },
                "q": {
                    "expressions": {
                        "one": {"references": ['module.p["g"].id', 'module.p["g"]', "module.p"]},
                        "same": {"references": ["module.p", "each.key"]},
                    },
                    "module": {
                        "resources": [
                            configured("m.x", one=["var.one"], same=["var.same"], local=["local.id"]),
                            configured("m.y", each=["each.value"], for_each=["var.one"]),
                        ]
                    },
                },
            }
        }
    },
}


def test_it_leads_through_variables_and_outputs_of_modules() -> None:
    assert lead(MODULES, 'module.q["h"].m.x', "one") == ['module.p["g"].t.a']


def test_between_modules_of_a_common_key_it_leads_to_the_one_that_has_it() -> None:
    assert lead(MODULES, 'module.q["h"].m.x', "same") == ['module.p["h"].t.a']


def test_the_value_of_for_each_leads_where_its_map_leads() -> None:
    assert lead(MODULES, 'module.q["h"].m.y["only"]', "each") == ['module.p["g"].t.a']


def test_a_local_leads_nowhere_for_a_plan_does_not_say_what_it_is() -> None:
    assert lead(MODULES, 'module.q["h"].m.x', "local") == []
