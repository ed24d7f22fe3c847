"""Follows a query over an event stream and prints the first event that says anything, as `event KIND DATA`.

    first_event_client.py http://HOST:PORT
"""

import json
import sys
import urllib.parse
import urllib.request

variables = urllib.parse.quote(json.dumps({"limit": 9}))
request = urllib.request.Request(
    f"{sys.argv[1]}/v1/connectors/auctions/queries/ClosingSoon?variables={variables}",
    headers={"accept": "text/event-stream"},
)
with urllib.request.urlopen(request, timeout=30) as answer:
    kind = ""
    for line in answer:
        text = line.decode().rstrip()
        if text.startswith("event:"):
            kind = text[6:].strip()
        elif text.startswith("data:") and text[5:].strip():
            print("event", kind, text[5:].strip(), flush=True)
            break
