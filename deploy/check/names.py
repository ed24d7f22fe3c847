"""Names that deploy/ uses: settings are defined by config/freshet.yaml, metrics by docs/operations/metrics.md."""

import re

import yaml

# Variables of Freshet's tools or of deploy/compose that are not settings.
OTHER_VARIABLES = {"FRESHET_CONFIG", "FRESHET_PUBLIC_ADDRESS"}
# The series of a histogram.
HISTOGRAM = ["_bucket", "_sum", "_count"]


def settings(root):
    """Returns paths and environment variables of all settings; for secrets also the variable that names a file."""
    known = set(OTHER_VARIABLES)
    section = None
    secret = False
    for line in (root / "config/freshet.yaml").read_text().splitlines():
        if match := re.match(r"^([a-z]\w*):", line):
            section = match[1]
        if match := re.match(r"^  # (.*)\. (FRESHET_[A-Z0-9_]+)$", line):
            known.add(match[2])
            if ", secret" in match[1]:
                known.add(match[2] + "_FILE")
        if match := re.match(r"^  #(\w+):", line):
            known.add(f"{section}.{match[1]}")
    return known


def used_settings(deploy):
    """Yields (file, name) for every variable and every key in a settings file."""
    for path in sorted(deploy.rglob("*")):
        if not path.is_file() or "secrets" in path.parts or path.suffix in {".py", ".pyc"}:
            continue
        for name in set(re.findall(r"\bFRESHET_[A-Z0-9_]+\b", path.read_text())):
            yield path, name
    for path, text in settings_files(deploy):
        for section, values in yaml.safe_load(text).items():
            for name in values or {}:
                yield path, f"{section}.{name}"


def settings_files(deploy):
    yield deploy / "systemd/freshet.yaml", (deploy / "systemd/freshet.yaml").read_text()
    config = deploy / "kubernetes/config.yaml"
    yield config, yaml.safe_load(config.read_text())["data"]["freshet.yaml"]


def image_environment(deploy):
    text = (deploy / "docker/Dockerfile").read_text()
    return dict(re.findall(r"\b(FRESHET_[A-Z_]+)=(\S+)", text))


def setting_sets(deploy, compose):
    """Yields (place, environment, settings file) for each kind of node as it would start. Secrets are inlined."""
    secrets = {
        "FRESHET_POSTGRES_URL": "host=/tmp", "FRESHET_REDIS_URL": "redis://x", "FRESHET_ADMIN_TOKEN": "token"}
    image = image_environment(deploy)

    def filled(environment):
        result = {}
        for name, value in environment.items():
            if name.endswith("_FILE"):
                name, value = name.removesuffix("_FILE"), secrets[name.removesuffix("_FILE")]
            elif value.startswith("${"):
                value = re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", value)
            if name.startswith("FRESHET_"):
                result[name] = value
        return result

    for name in ["api", "worker", "gateway"]:
        place = f"deploy/compose/compose.yaml: {name}"
        yield place, {**image, **filled(compose["services"][name]["environment"])}, None
    folder = deploy / "kubernetes"
    file = deploy.parent / ".venv-deploy/kubernetes-freshet.yaml"
    file.write_text(dict(settings_files(deploy))[folder / "config.yaml"])
    for name in ["api", "worker", "gateway"]:
        pod = yaml.safe_load((folder / f"{name}.yaml").read_text())["spec"]["template"]["spec"]
        environment = {v["name"]: v.get("value", "x") for v in pod["containers"][0]["env"]}
        yield f"deploy/kubernetes/{name}.yaml", {**image, **filled(environment)}, file
    for path in sorted((deploy / "systemd").glob("*.env")):
        lines = [line.split("=", 1) for line in path.read_text().splitlines() if line and not line.startswith("#")]
        yield path, {**secrets, **dict(lines)}, deploy / "systemd/freshet.yaml"


def metrics(root):
    """Every series that a node can expose, from the page that is generated from the declarations in the sources."""
    known = set()
    page = (root / "docs/operations/metrics.md").read_text()
    for name, kind in re.findall(r"^\| `(freshet_\w+)` \| (\w+) \|", page, re.MULTILINE):
        known |= {name + suffix for suffix in HISTOGRAM} if kind == "histogram" else {name}
    return known
