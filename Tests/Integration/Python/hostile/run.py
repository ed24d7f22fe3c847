"""Starts `freshet dev` with the sample and runs every attack against it (hostile_client.py).

    run.py FRESHET [SECONDS [ATTACK,…]]
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(FOLDER, "../../../../config/auctions")
OPERATIONS = """
query HostileSleep($seconds: Float!) @auth(level: PUBLIC, insecureReason: "for attacks") {
  _select(sql: "SELECT pg_sleep($1)::text AS slept", params: [$seconds])
}
query HostileBig($length: Int!) @auth(level: PUBLIC, insecureReason: "for attacks") {
  _select(sql: "SELECT repeat('x', $1) AS text", params: [$length])
}
"""
# The attacks come from 127.0.0.2, whose sessions and requests are counted; the subscriber from 127.0.0.1.
SETTINGS = ["http.uncountedAddresses=127.0.0.1", "http.port=0", "admin.port=0", "gateway.sessionsPerAddressMax=1000"]


def main(freshet, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        # Postgres does not run as root; its user must reach its data.
        os.chmod(folder, 0o755)
        project = shutil.copytree(SAMPLE, folder + "/auctions")
        with open(project + "/connector/queries.gql", "a") as file:
            file.write(OPERATIONS)
        command = [freshet, "dev", project]
        for setting in SETTINGS + [f"dev.dataDirectory={folder}/data"]:
            command += ["--set", setting]
        node = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = []
            for line in node.stdout:
                said.append(line)
                found = re.search(r"^Freshet serves .* at (http://\S+)", line)
                if found:
                    break
            else:
                raise SystemExit("the node did not start:\n" + "".join(said))
            url = found.group(1)
            # Nobody reads what the node says from here on.
            drain = subprocess.Popen(["cat"], stdin=node.stdout, stdout=subprocess.DEVNULL)
            client = [sys.executable, "-I", FOLDER + "/hostile_client.py", url, str(node.pid), *arguments]
            code = subprocess.run(client).returncode
            drain.kill()
            raise SystemExit(code)
        finally:
            node.send_signal(signal.SIGTERM)
            node.wait(30)


if __name__ == "__main__":
    main(*sys.argv[1:])
