"""The Logging query language, as far as sink filters and our own queries use it.

Source of every rule here: Google's page "Logging query language" (cloud.google.com/logging/docs/view/
logging-query-language). What that page does not say is refused with a `QueryError`, never guessed: a filter that
means something else in the simulator than in Cloud Logging is worse than none.
"""

from simulator.logging.query.predicates import Predicate, compile_query
from simulator.logging.query.tokens import QueryError

__all__ = ["Predicate", "QueryError", "compile_query"]
