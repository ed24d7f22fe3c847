"""Rules for deploy/kubernetes that no schema has: names that must match and times that must fit."""

import re

import yaml

# A node that waits for a server or a migration is alive but not ready, and must not be restarted.
PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
RESTRICTED = {
    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def check(documents, kustomization, folder, problem):
    by_kind = {}
    for path, document in documents:
        by_kind.setdefault(document["kind"], []).append((path, document))
    names = {kind: {d["metadata"]["name"] for _, d in items} for kind, items in by_kind.items()}
    names["ConfigMap"] |= {g["name"] for g in kustomization.get("configMapGenerator", [])}
    for generator in kustomization.get("configMapGenerator", []):
        for file in generator["files"]:
            if not (folder / file).is_file():
                problem(folder / "kustomization.yaml", f"{file} does not exist")
    workloads = by_kind["Deployment"] + by_kind["Job"]
    pods = [(path, d["metadata"]["name"], d["spec"]["template"]) for path, d in workloads]
    labels = [template["metadata"]["labels"] for _, _, template in pods]

    for path, name, template in pods:
        check_pod(path, name, template["spec"], names, by_kind, problem)
    for path, deployment in by_kind["Deployment"]:
        selector = deployment["spec"]["selector"]["matchLabels"]
        if not matches(selector, deployment["spec"]["template"]["metadata"]["labels"]):
            problem(path, "the selector does not match the template's pods")
        for constraint in deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", []):
            if constraint["labelSelector"]["matchLabels"] != selector:
                problem(path, "topologySpreadConstraints spread other pods")
        check_grace(path, deployment["spec"]["template"]["spec"], by_kind, folder, problem)

    for path, service in by_kind["Service"]:
        selected = [t for _, _, t in pods if matches(service["spec"]["selector"], t["metadata"]["labels"])]
        if not selected:
            problem(path, f"Service {service['metadata']['name']} matches no pod")
        for port in service["spec"]["ports"]:
            if not any(port["targetPort"] in port_names(t["spec"]) for t in selected):
                problem(path, f"no pod of {service['metadata']['name']} has port {port['targetPort']}")
    for path, budget in by_kind["PodDisruptionBudget"]:
        if not any(matches(budget["spec"]["selector"]["matchLabels"], own) for own in labels):
            problem(path, f"{budget['metadata']['name']} matches no pod")
    for path, scaler in by_kind["HorizontalPodAutoscaler"]:
        target = scaler["spec"]["scaleTargetRef"]
        if target["name"] not in names.get(target["kind"], ()):
            problem(path, f"scales {target['kind']} {target['name']}, which does not exist")
        check_adapter(path, scaler, folder, problem)
    for path, policy in by_kind["NetworkPolicy"]:
        check_policy(path, policy["spec"], pods, problem)


def matches(selector, labels):
    return all(labels.get(key) == value for key, value in selector.items())


def port_names(pod):
    return {port["name"] for container in pod["containers"] for port in container.get("ports", [])}


def check_pod(path, name, pod, names, by_kind, problem):
    account = pod.get("serviceAccountName")
    if account and account not in names["ServiceAccount"]:
        problem(path, f"there is no ServiceAccount {account}")
    if pod.get("securityContext", {}).get("runAsNonRoot") is not True:
        problem(path, f"{name} may run as root")
    volumes = {}
    for volume in pod.get("volumes", []):
        volumes[volume["name"]] = volume
        for kind, reference in [("ConfigMap", volume.get("configMap", {}).get("name")),
                                ("Secret", volume.get("secret", {}).get("secretName"))]:
            if reference and reference not in names[kind]:
                problem(path, f"there is no {kind} {reference}")
    for container in pod["containers"]:
        for key, value in RESTRICTED.items():
            if container.get("securityContext", {}).get(key) != value:
                problem(path, f"{name}: securityContext.{key} is not {value}")
        if "memory" not in container.get("resources", {}).get("limits", {}):
            problem(path, f"{name} has no memory limit")
        ports = {port["name"] for port in container.get("ports", [])}
        for probe, expected in PROBES.items():
            if not ports:
                continue
            action = container.get(probe, {})
            action = action.get("httpGet") or action.get("tcpSocket") or {}
            if action.get("port") not in ports:
                problem(path, f"{name}: {probe} is missing or names an unknown port")
            elif container["image"] == "freshet" and action.get("path") != expected:
                problem(path, f"{name}: {probe} uses {action.get('path')} instead of {expected}")
        mounts = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts", [])}
        for mount in mounts:
            if mount not in volumes:
                problem(path, f"{name} mounts {mount}, which is not a volume")
        keys = {key for _, s in by_kind["Secret"] for key in s["stringData"]}
        for variable in container.get("env", []):
            value = variable.get("value", "")
            if variable["name"].endswith("_FILE"):
                place, key = value.rsplit("/", 1)
                if place not in mounts.values() or key not in keys:
                    problem(path, f"{variable['name']} is {value}, which no Secret provides")


def check_grace(path, pod, by_kind, folder, problem):
    """Checks that preStop and the whole drain fit into the grace period."""
    pause = max(
        (int(c["lifecycle"]["preStop"]["exec"]["command"][1]) for c in pod["containers"] if "lifecycle" in c),
        default=0)
    if pod["containers"][0]["image"].startswith("haproxy"):
        drain = int(re.search(r"hard-stop-after (\d+)s", (folder / "haproxy.cfg").read_text())[1])
    else:
        text = next(d for _, d in by_kind["ConfigMap"])["data"]["freshet.yaml"]
        drain = sum(seconds(value) for value in yaml.safe_load(text)["drain"].values())
    if pod.get("terminationGracePeriodSeconds", 30) < pause + drain + 5:
        problem(path, f"terminationGracePeriodSeconds is below preStop {pause} s + drain {drain} s + 5 s")


def seconds(value):
    match = re.fullmatch(r"(\d+)(ms|s|m|h)?", str(value))
    return int(match[1]) * {"ms": 0.001, None: 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]


def check_adapter(path, scaler, folder, problem):
    adapter = yaml.safe_load((folder / "prometheus-adapter.yaml").read_text())
    offered = {rule["name"]["as"] for rule in adapter["rules"]["custom"]}
    for metric in scaler["spec"]["metrics"]:
        if metric["type"] == "Pods" and metric["pods"]["metric"]["name"] not in offered:
            problem(path, f"prometheus-adapter.yaml does not offer {metric['pods']['metric']['name']}")


def check_policy(path, spec, pods, problem):
    selected = [t for _, _, t in pods if selects(spec["podSelector"], t["metadata"]["labels"])]
    if not selected:
        problem(path, "a NetworkPolicy matches no pod")
    for rule in spec.get("ingress", []):
        for port in rule.get("ports", []):
            if not any(port["port"] in port_names(t["spec"]) for t in selected):
                problem(path, f"a NetworkPolicy opens {port['port']}, which none of its pods has")
        for peer in rule.get("from", []):
            own = peer.get("podSelector")
            if own and not any(selects(own, t["metadata"]["labels"]) for _, _, t in pods):
                problem(path, "a NetworkPolicy admits pods that do not exist")


def selects(selector, labels):
    if not matches(selector.get("matchLabels", {}), labels):
        return False
    expressions = selector.get("matchExpressions", [])
    return all(labels.get(e["key"]) in e["values"] for e in expressions if e["operator"] == "In")
