"""CEL rules over the spec of a TPUNodeGroup. `topology.check_topology` says the same in Python, with more words."""

from typing import Final

from controller.api.constants import KEY_STARTUP_SCRIPT, RESERVED_KEY_PREFIX, RESERVED_KEYS
from controller.api.rules import Rule, quoted, quoted_list
from controller.api.topology import V6E_TOPOLOGIES, V7_CUBE_SIDE, V7_MAX_CUBES, V7_MAX_SIDE, V7_SMALL

_MACHINE: Final = "self.instanceConfig.machineType"
_V7: Final = f"has(self.instanceConfig) && {_MACHINE}.startsWith('tpu7')"
_V6E: Final = f"has(self.instanceConfig) && {_MACHINE}.startsWith('ct6e-')"
_SIDES: Final = "self.topology.split('x')"


def _side(index: int) -> str:
    return f"int({_SIDES}[{index}])"


#: Chips of the whole topology (its form is checked by its own rule, which an API server may run later).
_WELL_FORMED: Final = "self.topology.matches('^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}$')"
_CHIPS: Final = f"{_side(0)} * {_side(1)} * ({_SIDES}.size() == 3 ? {_side(2)} : 1)"
_CHIPS_PER_HOST: Final = f"({_MACHINE}.endsWith('-1t') ? 1 : {_MACHINE}.endsWith('-8t') ? 8 : 4)"

_V6E_TABLE: Final = tuple(f"{machine}/{t}" for machine, shapes in V6E_TOPOLOGIES.items() for t in shapes)
_V7_CUBES: Final = (
    "self.topology.matches('^[0-9]{1,3}x[0-9]{1,3}x[0-9]{1,3}$')"
    f" && {_SIDES}.all(side, int(side) >= {V7_CUBE_SIDE} && int(side) <= {V7_MAX_SIDE}"
    f" && int(side) % {V7_CUBE_SIDE} == 0)"
    f" && {_side(0)} <= {_side(1)} && {_side(1)} <= {_side(2)}"
    f" && {_side(0)} * {_side(1)} * {_side(2)} <= {V7_MAX_CUBES * V7_CUBE_SIDE**3}"
)
_V7_LEGAL: Final = (
    f"{_MACHINE}.endsWith('-1t') ? self.topology == '1x1x1'"
    f" : {_MACHINE}.endsWith('-4t') && (self.topology in {quoted_list(V7_SMALL)} || ({_V7_CUBES}))"
)
_RESERVED: Final = tuple(sorted(RESERVED_KEYS))
#: Of the 256 that an InstanceTemplate may have.
_MAX_KEYS: Final = 240
_METADATA: Final = "has(self.instanceConfig) && has(self.instanceConfig.metadata)"

_SOURCE_RULES: Final = (
    Rule(
        "has(self.instanceConfig) != has(self.instanceTemplateURI)",
        "exactly one of instanceConfig and instanceTemplateURI must be set: "
        "the one to have a template made, the other to bring your own",
    ),
    Rule(
        "!(has(self.instanceTemplateURI) && has(self.bootstrapKubernetes))",
        "bootstrapKubernetes works with instanceConfig only: remove it, a brought template brings its own way to join",
        ".bootstrapKubernetes",
    ),
    Rule(
        "!has(self.instanceTemplateURI) || self.instanceTemplateURI.matches("
        "'^projects/[^/]+/(locations/[^/]+|regions/[^/]+|global)/instanceTemplates/[a-z0-9-]+$')",
        "instanceTemplateURI must be written as projects/PROJECT/global/instanceTemplates/NAME "
        "(or with regions/REGION in place of global)",
        ".instanceTemplateURI",
    ),
    Rule(
        "!has(self.instanceTemplateURI) || !self.instanceTemplateURI.startsWith('projects/')"
        " || self.instanceTemplateURI.startsWith('projects/' + self.project + '/')",
        "instanceTemplateURI must belong to the project that spec.project names: copy the template there, "
        "or change spec.project",
        ".instanceTemplateURI",
    ),
)

_SIZE_RULES: Final = (
    Rule(
        "self.nodeCount > 1 || self.targetSizePolicyMode == 'INDIVIDUAL'",
        "a single host is no BULK group: set targetSizePolicyMode to INDIVIDUAL",
        ".targetSizePolicyMode",
    ),
    Rule(
        f"!({_V6E}) || ({_MACHINE} + '/' + self.topology) in {quoted_list(_V6E_TABLE)}",
        "machineType and topology do not fit: "
        + "; ".join(f"{machine} takes {', '.join(shapes)}" for machine, shapes in V6E_TOPOLOGIES.items()),
        ".topology",
    ),
    Rule(
        f"!({_V7}) || ({_V7_LEGAL})",
        f"machineType and topology do not fit: tpu7x-standard-1t takes 1x1x1; tpu7x-standard-4t takes "
        f"{', '.join(V7_SMALL)}, or AxBxC of ascending multiples of {V7_CUBE_SIDE} up to {V7_MAX_SIDE} "
        f"with at most {V7_MAX_CUBES * V7_CUBE_SIDE**3} chips, as 4x4x8",
        ".topology",
    ),
    Rule(
        f"self.targetSizePolicyMode != 'BULK' || !has(self.instanceConfig) || !({_WELL_FORMED})"
        f" || {_CHIPS} == self.nodeCount * {_CHIPS_PER_HOST}",
        "nodeCount does not fit the topology: it must be the topology's chips divided by the chips of a host",
        ".nodeCount",
        # An API server cannot bound the length of string(int): the sum is shown, not worked out.
        message_expression=(
            "'nodeCount must be ' + self.topology.replace('x', '*') + '/' + "
            f"({_MACHINE}.endsWith('-1t') ? '1' : {_MACHINE}.endsWith('-8t') ? '8' : '4')"
            f" + ': the chips of topology ' + self.topology + ' divided by those of one ' + {_MACHINE}"
        ),
    ),
    Rule(
        f"self.targetSizePolicyMode != 'INDIVIDUAL' || !has(self.instanceConfig) || !({_WELL_FORMED})"
        f" || {_CHIPS} == {_CHIPS_PER_HOST}",
        "in mode INDIVIDUAL every host is a slice of its own: set topology to that of one host "
        "(1x1, 2x2, 2x4; 1x1x1, 2x2x1), or targetSizePolicyMode to BULK for one slice of all hosts",
        ".topology",
    ),
)

_METADATA_RULES: Final = (
    Rule(
        f"!({_METADATA}) || self.instanceConfig.metadata.size() <= {_MAX_KEYS}",
        f"instanceConfig.metadata may have at most {_MAX_KEYS} keys: the operator adds its own to the template",
        ".instanceConfig.metadata",
    ),
    Rule(
        f"!({_METADATA}) || self.instanceConfig.metadata.all(key, "
        f"!key.startsWith({quoted(RESERVED_KEY_PREFIX)}) && !(key in {quoted_list(_RESERVED)}))",
        f"instanceConfig.metadata may not have keys that the operator or the platform writes: remove "
        f"{RESERVED_KEY_PREFIX}*, {', '.join(_RESERVED)}",
        ".instanceConfig.metadata",
    ),
    Rule(
        f"!has(self.bootstrapKubernetes) || !({_METADATA})"
        f" || !({quoted(KEY_STARTUP_SCRIPT)} in self.instanceConfig.metadata)",
        f"instanceConfig.metadata may not have {KEY_STARTUP_SCRIPT} together with bootstrapKubernetes, which needs "
        "that key: remove one of them",
        ".instanceConfig.metadata",
    ),
)

GROUP_RULES: Final[tuple[Rule, ...]] = (*_SOURCE_RULES, *_SIZE_RULES, *_METADATA_RULES)
