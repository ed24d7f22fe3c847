"""PyPI's py-graphql-client, which speaks the older `graphql-ws`, as an application would use it.

    py_graphql_client.py http://HOST:PORT TOKEN

Reads, follows two queries, changes a movie, waits for the news and ends one of the two.
"""

import json
import os
import queue
import sys
import urllib.request

from graphql_client import GraphQLClient

TEXT = """%s ListMoviesByGenre($genre: String, $offset: Int) {
  movies(where: {genre: {eq: $genre}}, limit: 10, offset: $offset) { id title releaseYear genre description }
}"""
PROFILE = "%s GetExtendedProfileByUser { profile(key: {id_expr: \"auth.uid\"}) { id status photoUrl socialLink } }"
UPDATE = """mutation UpdateMovie($id: UUID!, $genre: String!, $description: String!) {
  movie_update(id: $id, data: {genre: $genre, description: $description})
}"""


def change(base, movie, description):
    body = {"operationName": "UpdateMovie", "variables": {"id": movie, "genre": "Horror", "description": description}}
    request = urllib.request.Request(
        base + "/graphql", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert "errors" not in json.load(answer)


def until(results, wanted):
    """The newest wins: a client may see fewer results than there were changes, never none."""
    while True:
        rows = results.get(timeout=20)["data"]["movies"]
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
    answer = client.query(TEXT % "query", {"genre": "Horror"}, headers)
    movie = answer["payload"]["data"]["movies"][0]["id"]
    # The token of `connection_init` holds for the session.
    profile = client.query(PROFILE % "query", {}, headers)
    assert "errors" not in profile["payload"], profile
    results, others = queue.Queue(), queue.Queue()

    def into(target):
        return lambda _, message: target.put(message["payload"]) if message["type"] == "data" else None
    client.subscribe(TEXT % "subscription", {"genre": "Horror"}, headers, into(results))
    other = client.subscribe(TEXT % "subscription", {"genre": "Horror"}, headers, into(others))
    assert len(results.get(timeout=20)["data"]["movies"]) == 10
    assert len(others.get(timeout=20)["data"]["movies"]) == 10
    changed = client.query(UPDATE, {"id": movie, "genre": "Horror", "description": "by graphql_client"}, headers)
    assert changed["payload"]["data"]["movie_update"]["id"], changed
    until(results, "by graphql_client")
    until(others, "by graphql_client")
    client.stop_subscribe(other)
    change(base, movie, "for one of them")
    until(results, "for one of them")
    quiet(others)
    client.close()


main(*sys.argv[1:])
print("passed", flush=True)
# It has a thread that connects again when the connection ends.
os._exit(0)
