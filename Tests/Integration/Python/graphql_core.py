"""What graphql-core, the reference implementation in Python, makes of a printed schema.

Reads {"schema": SDL, "operations": [{"name", "text"}], "introspection": answer?} from standard input and prints one
JSON object: {"schema": [problems], "operations": {name: [problems]}, "clientSchemaIsEqual": bool?}. With the argument
"many" it reads and prints a list of them; a schema that cannot be built is then one of its own problems.
"""

import json
import sys

from graphql import (
    build_client_schema,
    build_schema,
    get_introspection_query,
    parse,
    print_schema,
    validate,
    validate_schema,
)
from graphql.utilities import lexicographic_sort_schema

if sys.argv[1:] == ["query"]:
    print(json.dumps({"query": get_introspection_query(specified_by_url=True, directive_is_repeatable=True)}))
    sys.exit()


def judge(given):
    schema = build_schema(given["schema"])
    answer = {"schema": [error.message for error in validate_schema(schema)], "operations": {}}
    for operation in given["operations"]:
        errors = validate(schema, parse(operation["text"]), max_errors=5)
        if errors:
            answer["operations"][operation["name"]] = [error.message for error in errors]
    if "introspection" in given:
        client = build_client_schema(given["introspection"])
        answer["clientSchemaIsEqual"] = print_schema(lexicographic_sort_schema(client)) == print_schema(
            lexicographic_sort_schema(schema)
        )
    return answer


def judge_or_report(given):
    try:
        return judge(given)
    except Exception as error:
        return {"schema": [str(error)]}


given = json.load(sys.stdin)
json.dump([judge_or_report(each) for each in given] if sys.argv[1:] == ["many"] else judge(given), sys.stdout)
