"""PyPI's py-graphql-client, which speaks the older `graphql-ws`, as an application would use it.

    py_graphql_client.py http://HOST:PORT TOKEN

Reads, follows two queries, changes a lot, waits for the news and ends one of the two.
"""

import json
import os
import queue
import sys
import urllib.request

from graphql_client import GraphQLClient

TEXT = """%s ListLots($category: String) {
  lots(where: {category: {eq: $category}, open: {eq: true}, closesAt: {gt_time: {now: true}}},
       orderBy: [{closesAt: ASC}], limit: 10) { id title category description highestBid closesAt }
}"""
ACCOUNT = "%s MyAccount { user(key: {uid_expr: \"auth.uid\"}) { uid name city about } }"
UPDATE = """mutation EditLot($id: UUID!, $category: String!, $description: String!) {
  lot_update(id: $id, data: {category: $category, description: $description})
}"""


def change(base, lot, description):
    body = {"operationName": "EditLot", "variables": {"id": lot, "category": "Ceramics", "description": description}}
    request = urllib.request.Request(
        base + "/graphql", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert "errors" not in json.load(answer)


def until(results, wanted):
    """The newest wins: a client may see fewer results than there were changes, never none."""
    while True:
        rows = results.get(timeout=20)["data"]["lots"]
        if rows and rows[0]["description"] == wanted:
            return rows


def quiet(results):
    try:
        raise SystemExit("a result of what was ended: %r" % results.get(timeout=0.5))
    except queue.Empty:
        pass


def main(base, token):
    headers = {"Authorization": "Bearer " + token}
    client = GraphQLClient(base.replace("http", "ws", 1) + "/graphql")
    answer = client.query(TEXT % "query", {"category": "Ceramics"}, headers)
    lot = answer["payload"]["data"]["lots"][0]["id"]
    # The token of `connection_init` holds for the session.
    account = client.query(ACCOUNT % "query", {}, headers)
    assert "errors" not in account["payload"], account
    results, others = queue.Queue(), queue.Queue()

    def into(target):
        return lambda _, message: target.put(message["payload"]) if message["type"] == "data" else None
    client.subscribe(TEXT % "subscription", {"category": "Ceramics"}, headers, into(results))
    other = client.subscribe(TEXT % "subscription", {"category": "Ceramics"}, headers, into(others))
    assert len(results.get(timeout=20)["data"]["lots"]) == 10
    assert len(others.get(timeout=20)["data"]["lots"]) == 10
    changed = client.query(UPDATE, {"id": lot, "category": "Ceramics", "description": "by graphql_client"}, headers)
    assert changed["payload"]["data"]["lot_update"]["id"], changed
    until(results, "by graphql_client")
    until(others, "by graphql_client")
    client.stop_subscribe(other)
    change(base, lot, "for one of them")
    until(results, "for one of them")
    quiet(others)
    client.close()


main(*sys.argv[1:])
print("passed", flush=True)
# It has a thread that connects again when the connection ends.
os._exit(0)
