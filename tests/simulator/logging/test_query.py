"""The Logging query language, by the examples of Google's page on it and by what the sink's filter needs."""

from typing import Any

import pytest

from simulator.logging.query import QueryError, compile_query

ENTRY: dict[str, Any] = {
    "logName": "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Factivity",
    "resource": {"type": "gce_instance", "labels": {"zone": "us-central1-a", "instance_id": "123"}},
    "labels": {"compute.googleapis.com/root_trigger_id": "abc", "env": "prod-server-1"},
    "severity": "NOTICE",
    "timestamp": "2024-05-24T03:11:47.971786Z",
    "insertId": "-nut5osd6veo",
    "operation": {"id": "operation-1", "first": True},
    "protoPayload": {
        "methodName": "v1.compute.instances.setMetadata",
        "resourceName": "projects/1/zones/us-central1-a/instances/unicorn",
        "status": {"code": 8},
        "authorizationInfo": [{"permission": "a.b"}, {"permission": "c.d"}],
    },
    "jsonPayload": {
        "cat": "Longhair",
        "animal": "pet that is nice",
        "shoeSize": [8.5, 9, 6],
        "flag": True,
        ":name": "apple",
        "nothing": "",
    },
}

MATCHES = [
    # Precedence and grouping, as the page has it.
    'severity=NOTICE AND resource.type="gce_instance"',
    'severity=ERROR OR NOT insertId="x" AND NOT insertId="y" OR severity=ERROR',
    'severity=NOTICE resource.type="GCE_INSTANCE"\n-insertId="x"',
    # AND binds looser than OR: the other way round this would not match.
    'resource.type="gce_instance" OR severity=ERROR AND severity=NOTICE',
    'resource.type = ("gae_app" OR "gce_instance")',
    "resource.type = (gae_app OR gce_instance) AND severity >= NOTICE",
    'jsonPayload.animal : ("nice" AND "pet")',
    "jsonPayload.animal:(nice pet)",
    'jsonPayload.cat = ("longhair" OR "shorthair")',
    'resource.type = "gce_instance" AND severity >= "NOTICE" AND NOT textPayload:robot',
    'resource.type = "gce_instance" AND (severity = "ERROR" OR "unicorn")',
    # The page on trouble: bare, the second value is a search of its own.
    'insertId = "ABC-1" OR "unicorn"',
    'insertId = ("-nut5osd6veo" OR "ABC-2")',
    "-- a comment\nseverity=NOTICE -- and another",
    # Has, presence, quoted path components.
    'protoPayload.methodName:"setMetadata"',
    "protoPayload.method_name:SETMETADATA",
    'jsonPayload.":name":apple',
    'labels."compute.googleapis.com/root_trigger_id"=abc',
    "operation.id:*",
    "jsonPayload.cat:*",
    'protoPayload.authorizationInfo.permission="c.d"',
    # Types.
    "severity>=info",
    "severity<ERROR",
    "operation.first=true",
    "jsonPayload.shoeSize < 7",
    "jsonPayload.flag=True",
    "protoPayload.status.code>=8",
    'timestamp >= "2024-05-24T03:11:47.971Z" timestamp <= "2024-05-24T05:11:47.972+02:00"',
    "timestamp > 2024-05-23",
    # Missing fields: NOT holds, and a field of the LogEntry itself has its default.
    'NOT jsonPayload.missing="x"',
    "operation.last=false",
    "operation.last!=true",
    'trace=""',
    # Regular expressions: RE2, case-sensitive, not anchored, distributed.
    'labels.env =~ ("^prod.*server" OR "^staging.*server")',
    'labels.env =~ "(?i)PROD"',
    'labels.env !~ "PROD"',
    'logName =~ "%2Factivity$"',
    'protoPayload.resourceName=~"/(instances|instanceTemplates)/uni"',
    # Values on their own, and functions.
    "unicorn",
    '("unicorn" AND ("hat" OR "longhair"))',
    'log_id("cloudaudit.googleapis.com/activity")',
    "",
]

MISSES = [
    'resource.type="gae_app"',
    "severity=ERROR",
    'insertId = ("ABC-1" OR "unicorn")',
    "jsonPayload.missing=x",
    "jsonPayload.missing!=x",
    'jsonPayload.missing!~"x"',
    "jsonPayload.missing:*",
    "operation.last:*",
    'labels.env =~ "PROD"',
    'labels.env =~ ("^prod" AND "^staging")',
    "jsonPayload.shoeSize > 9",
    "unicorn griffin",
    'log_id("cloudaudit.googleapis.com/system_event")',
    'log_id("cloudaudit.googleapis.com%2Factivity")',
    'resource.type="gce_instance" AND NOT (protoPayload.methodName:"setMetadata" AND severity<ERROR)',
    # Lower-case operators are search terms.
    "severity=NOTICE or severity=ERROR",
    # A dollar is the end of the text only.
    'jsonPayload.cat =~ "Long$"',
]

REFUSALS = [
    ("thud=1", "a log entry has no field thud"),
    ("operation.thud=1", "operation has no field thud; it has id, producer, first, last"),
    ("textPayload.thud=1", "textPayload has no fields below it"),
    ("insertId = abc:def", "':' stands where a field"),
    ("insertId = a.b", "has a special character: write it in double quotes"),
    ("severity>=LOUD", "'LOUD' is no severity"),
    ("(severity=ERROR", "a parenthesis is not closed"),
    ("severity=ERROR)", "a parenthesis has no partner"),
    ("severity=", "the query ends where"),
    ("AND severity=ERROR", "AND stands where a comparison was expected"),
    ("sample(insertId, 0.25)", "the function sample is not known here"),
    ("jsonPayload.a = NULL_VALUE", "NULL_VALUE is not known here"),
    ('labels.a =~ "(?!x)"', "is not known here, or not in RE2"),
    ('labels.a =~ "("', "is wrong"),
    ("labels.a =~ foo", "must be in double quotes"),
    ('severity =~ "E"', "is no string"),
    ('labels = "x"', "labels is an object: only labels:* is known for it"),
    ('protoPayload.response.progress > "5"', "is not known here: its type is not in the entry"),
    ('timestamp > "yesterday"', "is no RFC 3339 time"),
    (r'labels.a = "\q"', "unknown escape sequence"),
    ("'single'", "cannot read the query at"),
    ("x" * 20_001, "at most 20000"),
]


@pytest.mark.parametrize("query", MATCHES)
def test_the_query_admits_the_entry(query: str) -> None:
    assert compile_query(query)(ENTRY)


@pytest.mark.parametrize("query", MISSES)
def test_the_query_does_not_admit_the_entry(query: str) -> None:
    assert not compile_query(query)(ENTRY)


@pytest.mark.parametrize(("query", "message"), REFUSALS, ids=[query[:30] for query, _ in REFUSALS])
def test_what_the_language_does_not_say_is_refused(query: str, message: str) -> None:
    with pytest.raises(QueryError) as refusal:
        compile_query(query)
    assert message in str(refusal.value)


def test_the_example_of_precedence_means_what_the_page_says() -> None:
    """The page: `"a" OR NOT "b" AND NOT "c" OR "d"` is `("a" OR (NOT "b")) AND ((NOT "c") OR "d")`."""
    bare = compile_query('"a" OR NOT "b" AND NOT "c" OR "d"')
    grouped = compile_query('("a" OR (NOT "b")) AND ((NOT "c") OR "d")')
    for number in range(16):
        present = [letter for bit, letter in enumerate("abcd") if number >> bit & 1]
        entry = {"jsonPayload": {"letters": present}}
        expected = ("a" in present or "b" not in present) and ("c" not in present or "d" in present)
        assert (bare(entry), grouped(entry)) == (expected, expected), present
