"""Checks everything in deploy/: formats by the programs that read them, names by the sources that define them.

Each check is a function `check_…`; it calls `problem` for an error and `skip` if it cannot run here.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

import kubernetes_rules
import names

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BIN = pathlib.Path(sys.executable).parent
KUBERNETES_VERSIONS = ["1.29", "1.32", "1.37"]

problems = []
skipped = []


def problem(place, message):
    problems.append(f"{place}: {message}")


def skip(what, why, covered=False):
    """`covered`: another check covers nearly the same, so skipping it is no failure even for CI."""
    skipped.append((f"{what}: {why}", covered))


def tool(name):
    """Returns the path of a program, preferring the virtual environment; None if it is not installed."""
    own = BIN / name
    if own.exists():
        return str(own)
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(name, path=path)


def run(what, place, command, **options):
    """Runs a checker; if it fails, its output is the problem."""
    program = tool(command[0])
    if program is None:
        skip(what, f"{command[0]} is not installed")
        return None
    result = subprocess.run(
        [program, *map(str, command[1:])], cwd=ROOT, capture_output=True, text=True, timeout=120, **options)
    if result.returncode != 0:
        problem(place, f"{what} reports:\n    " + (result.stdout + result.stderr).strip().replace("\n", "\n    "))
        return None
    return result.stdout + result.stderr


# ---- containers


def compose_file():
    return yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())


def check_compose():
    path = DEPLOY / "compose/compose.yaml"
    run("the compose schema", path, ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", path])
    # As docker compose reads it, with anchors and variables resolved. Secrets are created in a copy.
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(DEPLOY, f"{folder}/deploy", ignore=shutil.ignore_patterns("secrets"))
        made = run("secrets.sh", path, ["bash", f"{folder}/deploy/compose/secrets.sh"])
        text = run(
            "docker compose", path,
            ["docker-compose", "-f", f"{folder}/deploy/compose/compose.yaml", "--profile", "*", "config", "--format",
             "json"])
        if text is None or made is None:
            return
        services = json.loads(text[text.index("{"):])["services"]
        for name, service in services.items():
            for secret in service.get("secrets") or []:
                if not pathlib.Path(f"{folder}/deploy/compose/secrets/{secret['source']}").is_file():
                    problem(path, f"secrets.sh does not create {secret['source']}, which {name} uses")
            for volume in service.get("volumes") or []:
                if volume["type"] == "bind" and not pathlib.Path(volume["source"]).exists():
                    problem(path, f"{name} mounts {volume['source']}, which does not exist")
        roles = {n: s["deploy"]["replicas"] for n, s in services.items() if "deploy" in s and "replicas" in s["deploy"]}
        if roles != {"api": 2, "worker": 3, "gateway": 2}:
            problem(path, f"the topology differs from freshet cluster: {roles}")


def check_dockerfile():
    path = DEPLOY / "docker/Dockerfile"
    # DL3008: Debian packages are not pinned, so that security updates are installed.
    run("hadolint", path, ["hadolint", "--ignore", "DL3008", path])
    text = path.read_text()
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
        for source in sources.split():
            if not (ROOT / source).exists():
                problem(path, f"copies {source}, which does not exist")
            if source not in allowed:
                problem(path, f"copies {source}, which .dockerignore excludes")
    for product in re.findall(r"--product (\S+)", text):
        if f'.executable(name: "{product}"' not in (ROOT / "Package.swift").read_text():
            problem(path, f"builds {product}, which is not a product of Package.swift")
    for package in re.findall(r"lib\S+-dev", text):
        if package not in (DEPLOY / "setup.sh").read_text():
            problem(path, f"installs {package}, which deploy/setup.sh does not install")


# ---- proxies, units, Prometheus, Grafana


def check_proxies():
    for path in [DEPLOY / "haproxy/haproxy.cfg", DEPLOY / "kubernetes/haproxy.cfg"]:
        run("haproxy -c", path, ["haproxy", "-c", "-f", path])
    path = DEPLOY / "nginx/freshet.conf"
    with tempfile.TemporaryDirectory() as folder:
        main = pathlib.Path(folder) / "nginx.conf"
        main.write_text(
            f"error_log stderr; pid {folder}/pid; events {{}}\nhttp {{ access_log off; include {path}; }}\n")
        run("nginx -t", path, ["nginx", "-t", "-q", "-p", folder, "-c", main])


def check_forwarded_addresses():
    """Limits per address need a proxy that says whose request it is, and nodes that believe it."""
    for name in ["haproxy/haproxy.cfg", "kubernetes/haproxy.cfg"]:
        text = (DEPLOY / name).read_text()
        if "option forwardfor" not in text or "http-request del-header x-forwarded-for" not in text:
            problem(DEPLOY / name, "does not replace X-Forwarded-For")
    path = DEPLOY / "nginx/freshet.conf"
    # A location with headers of its own inherits none.
    for location in re.findall(r"location [^{]*{[^}]*}", path.read_text()):
        if not re.search(r"(proxy|grpc)_set_header X-Forwarded-For \$remote_addr;", location):
            problem(path, "a location does not replace X-Forwarded-For")
    compose = compose_file()
    subnets = [c["subnet"] for c in compose["networks"]["inside"]["ipam"]["config"]]
    for name in ["api", "worker", "gateway"]:
        trusted = compose["services"][name]["environment"].get("FRESHET_HTTP_TRUSTED_PROXIES", "")
        if trusted.split(",") != subnets:
            problem(DEPLOY / "compose/compose.yaml", f"{name} trusts {trusted}, the proxy is in {subnets}")
    config = yaml.safe_load((DEPLOY / "kubernetes/config.yaml").read_text())
    files = {
        DEPLOY / "kubernetes/config.yaml": yaml.safe_load(config["data"]["freshet.yaml"]),
        DEPLOY / "systemd/freshet.yaml": yaml.safe_load((DEPLOY / "systemd/freshet.yaml").read_text()),
    }
    for path, settings in files.items():
        if not settings["http"].get("trustedProxies"):
            problem(path, "trusts no proxy: everybody behind one shares its limits")


def check_units():
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        with tempfile.TemporaryDirectory() as folder:
            # The program is wherever it was built; here it need only be one that can be run.
            unit = pathlib.Path(folder) / path.name
            unit.write_text(path.read_text().replace("/usr/local/bin/freshet", "/bin/true"))
            said = run("systemd-analyze verify", path, ["systemd-analyze", "verify", "--man=no", unit])
            # It only warns about what it ignores.
            if said:
                problem(path, f"systemd-analyze reports:\n    {said.strip()}")


def check_prometheus():
    folder = DEPLOY / "prometheus"
    main = folder / "prometheus.yaml"
    run("promtool", main, ["promtool", "check", "config", "--syntax-only", main])
    run("promtool", folder / "alerts.yaml", ["promtool", "check", "rules", folder / "alerts.yaml"])
    run("promtool", folder / "alerts_test.yaml", ["promtool", "test", "rules", folder / "alerts_test.yaml"])


def dashboard_queries():
    dashboard = json.loads((DEPLOY / "grafana/freshet.json").read_text())
    return [(p["title"], t["expr"]) for p in dashboard["panels"] for t in p.get("targets", [])]


def check_dashboard():
    path = DEPLOY / "grafana/freshet.json"
    dashboard = json.loads(path.read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(ids) != len(set(ids)):
        problem(path, "two panels have the same id")
    cells = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        right, bottom = place["x"] + place["w"], place["y"] + place["h"]
        own = {(x, y) for x in range(place["x"], right) for y in range(place["y"], bottom)}
        if cells & own or right > 24:
            problem(path, f"panel {panel['title']} overlaps another or the edge")
        cells |= own
    # Lets Prometheus parse every query, as a recording rule.
    rules = [
        {"record": f"check:q{i}", "expr": e.replace("$__rate_interval", "5m").replace("$instance", ".*")}
        for i, (_, e) in enumerate(dashboard_queries())]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        run("promtool", path, ["promtool", "check", "rules", file.name])


def check_provisioning():
    """Grafana finds its data source, its dashboard, and the password where compose puts them."""
    path = DEPLOY / "compose/compose.yaml"
    services = compose_file()["services"]
    grafana = services["grafana"]
    mounts = dict(reversed(volume.split(":")[:2]) for volume in grafana["volumes"])

    def file_of(target):
        """The file of deploy/ that the container has at this path."""
        for mount, source in mounts.items():
            if target == mount or target.startswith(mount + "/"):
                return path.parent / (source + target.removeprefix(mount))
        return None

    folder = DEPLOY / "grafana/provisioning"
    for kind in ["datasources", "dashboards"]:
        found = file_of(f"/etc/grafana/provisioning/{kind}")
        if found is None or not list(found.glob("*.yaml")):
            problem(path, f"grafana has no provisioning/{kind}")
    sources = yaml.safe_load((folder / "datasources/prometheus.yaml").read_text())["datasources"]
    if [source["type"] for source in sources if source.get("isDefault")] != ["prometheus"]:
        problem(folder, "not exactly one data source is the default")
    interval = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())["global"]["scrape_interval"]
    for source in sources:
        host, port = re.fullmatch(r"http://(\w+):(\d+)", source["url"]).groups()
        # The published port is the container's own.
        if host not in services or not any(str(p).endswith(":" + port) for p in services[host]["ports"]):
            problem(folder, f"{source['url']} is no service of compose.yaml")
        if source["jsonData"]["timeInterval"] != interval:
            problem(folder, f"timeInterval is not the scrape_interval, {interval}")
    providers = yaml.safe_load((folder / "dashboards/freshet.yaml").read_text())["providers"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    for dashboard in [home] + [provider["options"]["path"] + "/freshet.json" for provider in providers]:
        found = file_of(dashboard)
        if found is None or found.resolve() != (DEPLOY / "grafana/freshet.json").resolve():
            problem(path, f"grafana does not have the dashboard at {dashboard}")
    secret = grafana["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"].removeprefix("/run/secrets/")
    if secret not in grafana["secrets"]:
        problem(path, f"grafana has no secret {secret}")
    # What the dashboard refers to must exist in it.
    text = (DEPLOY / "grafana/freshet.json").read_text()
    known = {variable["name"] for variable in json.loads(text)["templating"]["list"]} | {"__rate_interval", "__all"}
    for name in set(re.findall(r"\$\{?(\w+)", text)) - known:
        problem(DEPLOY / "grafana/freshet.json", f"uses ${name}, which is no variable of it")
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
    for name in prometheus["rule_files"]:
        if not (DEPLOY / "prometheus" / name).is_file():
            problem(DEPLOY / "prometheus/prometheus.yaml", f"loads {name}, which does not exist")
    for job in prometheus["scrape_configs"]:
        for host in job["dns_sd_configs"][0]["names"]:
            if host not in services:
                problem(DEPLOY / "prometheus/prometheus.yaml", f"scrapes {host}, which is no service of compose.yaml")


# ---- Kubernetes


def check_kubernetes():
    folder = DEPLOY / "kubernetes"
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    documents = []
    for name in kustomization["resources"] + ["secret.example.yaml"]:
        path = folder / name
        if not path.is_file():
            problem(folder / "kustomization.yaml", f"names {name}, which does not exist")
            continue
        documents += [(path, document) for document in yaml.safe_load_all(path.read_text())]
        for version in KUBERNETES_VERSIONS:
            run(f"the schema of Kubernetes {version}", path,
                ["kubernetes-validate", "--strict", "--quiet", "-k", version, path])
    listed = set(kustomization["resources"]) | {"kustomization.yaml", "secret.example.yaml", "prometheus-adapter.yaml"}
    for path in folder.glob("*.yaml"):
        if path.name not in listed:
            problem(path, "is not in kustomization.yaml")
    kubernetes_rules.check(documents, kustomization, folder, problem)
    if tool("kubectl"):
        run("kubectl kustomize", folder, ["kubectl", "kustomize", folder])
    else:
        skip("kubectl kustomize", "kubectl is not installed; references are still checked", covered=True)


# ---- names


def check_settings():
    known = names.settings(ROOT)
    for path, key in names.used_settings(DEPLOY):
        if key not in known:
            problem(path, f"{key} is not a setting")
    # Checks values, too, if the program is built.
    built = [path for path in (ROOT / ".build/debug/freshet", ROOT / ".build/release/freshet") if path.exists()]
    program = max(built, key=lambda path: path.stat().st_mtime, default=None)
    if program is None:
        skip("values of settings", "freshet is not built (make build); only names were checked")
        return
    for place, environment, file in names.setting_sets(DEPLOY, compose_file()):
        command = [str(program), "config"] + (["--config", str(file)] if file else [])
        result = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=60,
            env={"PATH": os.environ["PATH"], **environment})
        if result.returncode != 0:
            problem(place, "freshet config reports:\n    " + result.stderr.strip().replace("\n", "\n    "))


def check_metrics():
    known = names.metrics(ROOT)
    path = DEPLOY / "prometheus/alerts.yaml"
    groups = yaml.safe_load(path.read_text())["groups"]
    texts = [(path, "\n".join(rule["expr"] for group in groups for rule in group["rules"]))]
    texts += [(DEPLOY / "grafana/freshet.json", "\n".join(e for _, e in dashboard_queries()))]
    texts += [(DEPLOY / f"kubernetes/{n}.yaml", (DEPLOY / f"kubernetes/{n}.yaml").read_text())
              for n in ("autoscaling", "prometheus-adapter")]
    texts.append((DEPLOY / "prometheus/alerts_test.yaml", (DEPLOY / "prometheus/alerts_test.yaml").read_text()))
    used = set()
    for path, text in texts:
        for name in sorted(set(re.findall(r"\bfreshet_[a-z_]+\b", text))):
            used.add(name)
            if name not in known:
                problem(path, f"{name} is not a metric of Sources")
    if not used:
        problem("metrics", "none was found; the check reads the wrong files")


def check_scripts():
    for path in sorted(DEPLOY.rglob("*.sh")):
        run("bash -n", path, ["bash", "-n", path])
        if not os.access(path, os.X_OK):
            problem(path, "is not executable")


def main():
    strict = "--strict" in sys.argv[1:]
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    for check in checks:
        before = len(problems)
        check()
        print(("ok    " if len(problems) == before else "WRONG ") + check.__name__.removeprefix("check_"))
    for text in problems:
        print(f"error: {text.replace(str(ROOT) + '/', '')}", file=sys.stderr)
    for text, _ in skipped:
        print(f"SKIPPED {text}", file=sys.stderr)
    print(f"deploy: {len(checks)} checks, {len(problems)} problems, {len(skipped)} skipped")
    sys.exit(1 if problems or (strict and not all(covered for _, covered in skipped)) else 0)


if __name__ == "__main__":
    main()
