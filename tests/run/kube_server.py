"""A stand-in for a Kubernetes cluster: an HTTP server with the part of the API that kubectl uses for jobs, and their pods as
processes of this machine.

- Objects are checked against SCHEMA (fields, types, names, sizes) and refused as the real server refuses them.
- A job's pods are started with the container's command. There is no container: in the command, /config and /results stand for
  folders of this machine, and PATH is the one given. GPUs, memory and images are not checked. An image whose name begins with
  "missing/" cannot be pulled, one that begins with "flaky/" neither, with another reason. A node selector with the key "nowhere"
  fits no node.
- Retries, backoffLimit, podFailurePolicy, activeDeadlineSeconds, Indexed completion, deletion with a grace period and logs with
  time stamps follow the documentation of Kubernetes 1.31. There is no delay before a retry.
- exec speaks SPDY, as kubectl's exec does (WebSocket requests are refused, so that newer versions fall back to it), and also
  plain HTTP for the stand-in of kubectl.

The attributes `fail_next` and `cut_logs` cause trouble on purpose.
"""
import collections
import copy
import datetime
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.parse
import uuid
import zlib

LABEL = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")
NAME = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
SERVICE_NAME = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
KEY = re.compile(r"^[-._a-zA-Z0-9]+$")
ENV = re.compile(r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")
QUANTITY = re.compile(r"^[0-9]+(\.[0-9]+)?(m|[kMGTPE]|[KMGTPE]i)?$")


class Map:
    """A map with any keys, whose values have this type."""

    def __init__(self, value, key=None):
        self.value, self.key = value, key


class Needs(dict):
    """An object whose fields with a name that ends in * are required."""


METADATA = Needs({"name*": str, "namespace": str, "labels": Map(LABEL), "annotations": Map(str)})
CLAIM_VOLUME = Needs({"claimName*": str, "readOnly": bool})
VOLUME = Needs({"name*": NAME, "emptyDir": {"medium": str, "sizeLimit": QUANTITY}, "configMap": Needs({"name*": str}),
                "persistentVolumeClaim": CLAIM_VOLUME})
ENV_VAR = Needs({"name*": ENV, "value": str, "valueFrom": {"fieldRef": Needs({"fieldPath*": str}),
                                                          "secretKeyRef": Needs({"name*": str, "key*": str})}})
CONTAINER = Needs({"name*": NAME, "image*": str, "imagePullPolicy": ("Always", "IfNotPresent", "Never"), "workingDir": str,
                   "command": [str], "args": [str], "env": [ENV_VAR],
                   "resources": {"requests": Map(QUANTITY), "limits": Map(QUANTITY)},
                   "volumeMounts": [Needs({"name*": str, "mountPath*": str, "readOnly": bool})],
                   "securityContext": {"capabilities": {"add": [str]}, "seccompProfile": Needs({"type*": str})}})
POD_SPEC = Needs({"containers*": [CONTAINER], "restartPolicy": ("Never", "OnFailure", "Always"), "volumes": [VOLUME],
                  "subdomain": NAME, "hostIPC": bool, "nodeSelector": Map(LABEL), "terminationGracePeriodSeconds": int,
                  "tolerations": [{"key": str, "operator": ("Equal", "Exists"), "value": str, "effect": str}],
                  "imagePullSecrets": [{"name": str}],
                  "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [Needs({
                      "weight*": int, "preference*": {"matchFields": [Needs({"key*": str, "operator*": str, "values": [str]})]}})]}}})
JOB_SPEC = Needs({"template*": Needs({"metadata": {"labels": Map(LABEL)}, "spec*": POD_SPEC}), "completions": int,
                  "parallelism": int, "completionMode": ("Indexed", "NonIndexed"), "backoffLimit": int,
                  "activeDeadlineSeconds": int, "ttlSecondsAfterFinished": int,
                  "podFailurePolicy": Needs({"rules*": [Needs({"action*": ("FailJob", "Ignore", "Count"), "onExitCodes": Needs({
                      "containerName": str, "operator*": ("In", "NotIn"), "values*": [int]})})]})})
COMMON = {"apiVersion*": str, "kind*": str, "metadata*": METADATA}
SCHEMA = {
    "jobs": Needs({**COMMON, "spec*": JOB_SPEC}),
    "pods": Needs({**COMMON, "spec*": POD_SPEC}),
    "configmaps": Needs({**COMMON, "data": Map(str, KEY)}),
    "secrets": Needs({**COMMON, "type": str, "stringData": Map(str, KEY), "data": Map(str, KEY)}),
    "services": Needs({**COMMON, "spec*": {"clusterIP": str, "publishNotReadyAddresses": bool, "selector": Map(LABEL),
                                           "ports": [Needs({"name": NAME, "port*": int})]}}),
    "persistentvolumeclaims": Needs({**COMMON, "spec*": Needs({
        "accessModes*": ["ReadWriteOnce ReadWriteMany".split()], "resources*": Needs({"requests*": Map(QUANTITY)}),
        "storageClassName": str})}),
}
KINDS = {"jobs": ("Job", "batch/v1"), "pods": ("Pod", "v1"), "configmaps": ("ConfigMap", "v1"), "secrets": ("Secret", "v1"),
         "services": ("Service", "v1"), "persistentvolumeclaims": ("PersistentVolumeClaim", "v1"), "events": ("Event", "v1")}
SHORT = {"configmaps": ["cm"], "persistentvolumeclaims": ["pvc"], "services": ["svc"], "pods": ["po"], "jobs": [], "secrets": [], "events": ["ev"]}


def check(value, schema, place):
    """Raises ValueError where the value does not fit."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{place}: expected an object, got {value!r}")
        names = {name.rstrip("*"): kind for name, kind in schema.items()}
        for name in value:
            if name not in names:
                raise ValueError(f"{place}: unknown field {name!r}")
            check(value[name], names[name], f"{place}.{name}")
        for name in schema:
            if name.endswith("*") and value.get(name[:-1]) in (None, ""):
                raise ValueError(f"{place}.{name[:-1]}: Required value")
    elif isinstance(schema, Map):
        if not isinstance(value, dict):
            raise ValueError(f"{place}: expected a map, got {value!r}")
        for key, item in value.items():
            if schema.key and not schema.key.match(key):
                raise ValueError(f"{place}: invalid key {key!r}")
            check(item, schema.value, f"{place}[{key}]")
    elif isinstance(schema, list):
        if not isinstance(value, list):
            raise ValueError(f"{place}: expected a list, got {value!r}")
        for i, item in enumerate(value):
            check(item, tuple(schema[0]) if isinstance(schema[0], list) else schema[0], f"{place}[{i}]")
    elif isinstance(schema, tuple):
        if value not in schema:
            raise ValueError(f"{place}: Unsupported value: {value!r}")
    elif isinstance(schema, re.Pattern):
        if not isinstance(value, str) or not schema.match(value) or len(value) > 63:
            raise ValueError(f"{place}: Invalid value: {value!r}")
    elif type(value) is not schema:
        raise ValueError(f"{place}: expected {schema.__name__}, got {value!r}")


def check_object(kind, item):
    check(item, SCHEMA[kind], kind)
    name = item["metadata"]["name"]
    if not (SERVICE_NAME if kind == "services" else NAME).match(name) or len(name) > 63:
        raise ValueError(f"metadata.name: Invalid value: {name!r}")
    if (item["apiVersion"], item["kind"]) != KINDS[kind][::-1]:
        raise ValueError(f"{item['apiVersion']} {item['kind']} is not of {kind}")
    for field in ("data", "stringData"):
        if sum(len(k.encode()) + len(v.encode()) for k, v in item.get(field, {}).items()) > 1 << 20:
            raise ValueError(f"{field}: Too long: must have at most 1048576 bytes")
    if kind == "jobs":
        spec = item["spec"]
        pod = spec["template"]["spec"]
        if pod["restartPolicy"] == "Always" or ("podFailurePolicy" in spec and pod["restartPolicy"] != "Never"):
            raise ValueError("spec.template.spec.restartPolicy: Unsupported value")
        if len(f"{name}-{spec['completions'] - 1}") > 63:
            raise ValueError("metadata.name: Invalid value: the host names of pods would be too long")
        names = {volume["name"] for volume in pod["volumes"]}
        for mount in pod["containers"][0]["volumeMounts"]:
            if mount["name"] not in names:
                raise ValueError(f"volumeMounts: Not found: {mount['name']!r}")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Pod:
    """A pod that runs as a process of this machine."""

    def __init__(self, cluster, name, namespace, labels, spec, index=None):
        self.cluster, self.name, self.namespace, self.spec = cluster, name, namespace, spec
        self.process, self.lines, self.over, self.deleted = None, [], threading.Event(), False
        self.item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels,
                                                                     "uid": str(uuid.uuid4()), "creationTimestamp": now()},
                     "spec": {**copy.deepcopy(spec)}, "status": {"phase": "Pending", "conditions": []}}
        self.index = index
        if index is not None:
            self.item["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": str(index)}

    def set_state(self, phase, state, **more):
        self.item["status"].update({"phase": phase, "containerStatuses": [
            {"name": self.spec["containers"][0]["name"], "state": state, "ready": phase == "Running", "restartCount": 0}], **more})

    def environment(self):
        env = {"PATH": self.cluster.path, "HOSTNAME": self.name, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C.UTF-8"}
        env.update(self.cluster.variables)
        if self.index is not None:
            env["JOB_COMPLETION_INDEX"] = str(self.index)
        for variable in self.spec["containers"][0].get("env", []):
            source = variable.get("valueFrom", {})
            value = variable.get("value", "")
            if "fieldRef" in source:
                value = self.name
            if "secretKeyRef" in source:
                secret = self.cluster.objects["secrets"].get((self.namespace, source["secretKeyRef"]["name"]))
                if not secret or source["secretKeyRef"]["key"] not in secret["stringData"]:
                    raise LookupError(f"secret \"{source['secretKeyRef']['name']}\" not found")
                value = secret["stringData"][source["secretKeyRef"]["key"]]
            env[variable["name"]] = value
        return env

    def mounts(self):
        """Folders of this machine for those of the container."""
        places = {}
        volumes = {v["name"]: v for v in self.spec.get("volumes", [])}
        for mount in self.spec["containers"][0].get("volumeMounts", []):
            volume = volumes[mount["name"]]
            if "persistentVolumeClaim" in volume:
                places[mount["mountPath"]] = self.cluster.volume(self.namespace, volume["persistentVolumeClaim"]["claimName"])
            if "configMap" in volume:
                config = self.cluster.objects["configmaps"].get((self.namespace, volume["configMap"]["name"]))
                if not config:
                    raise LookupError(f"configmap \"{volume['configMap']['name']}\" not found")
                folder = os.path.join(self.cluster.folder, "config", self.name)
                os.makedirs(folder, exist_ok=True)
                for key, text in config["data"].items():
                    with open(os.path.join(folder, key), "w", encoding="utf-8", newline="") as f:
                        f.write(text.replace(mount["mountPath"] + "/", folder + "/"))
                places[mount["mountPath"]] = folder
        return places

    def words(self, words):
        places = self.mounts()
        for there, here in places.items():
            if there != "/dev/shm":
                words = [re.sub(re.escape(there) + r"(?=[/'\s\"]|$)", lambda _: here, word) for word in words]
        return words

    def start(self):
        threading.Thread(target=self.run, daemon=True).start()

    def wait_until_it_can_run(self):
        image = self.spec["containers"][0]["image"]
        if "nowhere" in self.spec.get("nodeSelector", {}):
            self.item["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                                                  "message": "0/3 nodes are available: 3 node(s) didn't match selector."}]
            while not self.deleted and not self.cluster.has_room:
                time.sleep(0.05)
            self.item["status"]["conditions"] = []
        self.item["spec"]["nodeName"] = "machine-a"
        while image.startswith(("missing/", "flaky/")) and not self.deleted:
            text = "manifest unknown" if image.startswith("missing/") else "dial tcp: i/o timeout"
            for reason in ("ErrImagePull", "ImagePullBackOff"):
                self.set_state("Pending", {"waiting": {"reason": reason, "message": f"failed to pull {image}: {text}"}})
                time.sleep(0.1)
        self.set_state("Pending", {"waiting": {"reason": "ContainerCreating"}})
        return not self.deleted

    def run(self):
        if self.wait_until_it_can_run():
            try:
                container = self.spec["containers"][0]
                command = self.words(container["command"] + container.get("args", []))
                workdir = os.path.join(self.cluster.folder, "work", self.name)
                os.makedirs(workdir, exist_ok=True)
                self.process = subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                cwd=workdir, start_new_session=True)
            except LookupError as problem:
                self.set_state("Pending", {"waiting": {"reason": "CreateContainerConfigError", "message": str(problem)}})
                return
            self.set_state("Running", {"running": {"startedAt": now()}})
            evict = next((float(v["value"]) for v in container.get("env", []) if v["name"] == "STANDIN_EVICT_FIRST"), None)
            if evict is not None and not self.cluster.evicted:
                self.cluster.evicted = True
                threading.Timer(evict, self.evict).start()
            for line in self.process.stdout:
                stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
                self.lines.append((stamp, line))
            status = self.process.wait()
            code = status if status >= 0 else 128 - status
            state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
            if self.item["status"].get("reason") != "Evicted":
                self.set_state("Failed" if code else "Succeeded", state)
            else:
                self.set_state("Failed", state)
        self.over.set()
        if self.deleted:
            self.cluster.pods.pop((self.namespace, self.name), None)

    def evict(self):
        self.item["status"].update(reason="Evicted", message="The node was low on resource: ephemeral-storage.")
        self.end(signal.SIGKILL)

    def end(self, number):
        if self.process and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    def delete(self):
        self.deleted = True
        self.item["metadata"]["deletionTimestamp"] = now()
        grace = self.spec.get("terminationGracePeriodSeconds", 30)
        if self.process and self.process.poll() is None:
            self.end(signal.SIGTERM)
            threading.Timer(grace, self.end, [signal.SIGKILL]).start() if grace else self.end(signal.SIGKILL)
        if self.over.is_set() or not self.process:
            self.cluster.pods.pop((self.namespace, self.name), None)


class Job:
    """The controller of one job."""

    def __init__(self, cluster, item):
        self.cluster, self.item, self.failures, self.stopped = cluster, item, 0, False
        self.began = time.monotonic()
        item["status"] = {"conditions": []}
        threading.Thread(target=self.control, daemon=True).start()

    def start_pod(self, index):
        metadata, template = self.item["metadata"], self.item["spec"]["template"]
        name = f"{metadata['name']}-{index}-{uuid.uuid4().hex[:5]}"
        pod = Pod(self.cluster, name, metadata["namespace"], template["metadata"]["labels"], template["spec"], index)
        self.cluster.pods[(metadata["namespace"], name)] = pod
        self.cluster.started.append(name)
        pod.start()
        return pod

    def fail(self, reason, message, pods):
        self.item["status"]["conditions"] = [{"type": "Failed", "status": "True", "reason": reason, "message": message}]
        for pod in pods.values():
            if not pod.over.is_set():
                pod.delete()
        self.stopped = True

    def check_failure(self, pod, pods):
        spec = self.item["spec"]
        self.failures += 1
        status = pod.item["status"]
        code = status["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        for rule in spec.get("podFailurePolicy", {}).get("rules", []):
            if rule["action"] == "FailJob" and code in rule["onExitCodes"]["values"] and status.get("reason") != "Evicted":
                return self.fail("PodFailurePolicy", f"Container gputally failed with exit code {code}", pods)
        if self.failures > spec.get("backoffLimit", 6):
            self.fail("BackoffLimitExceeded", "Job has reached the specified backoff limit", pods)

    def control(self):
        spec = self.item["spec"]
        while self.cluster.quota and not self.stopped:
            time.sleep(0.05)
        if self.stopped:
            return
        pods, done = {index: self.start_pod(index) for index in range(spec["completions"])}, set()
        while not self.stopped and len(done) < spec["completions"]:
            time.sleep(0.03)
            for index, pod in list(pods.items()):
                if self.stopped or index in done or not pod.over.is_set():
                    continue
                if pod.item["status"]["phase"] == "Succeeded":
                    done.add(index)
                else:
                    self.check_failure(pod, pods)
                    if not self.stopped:
                        pods[index] = self.start_pod(index)
            limit = spec.get("activeDeadlineSeconds")
            if limit and not self.stopped and time.monotonic() > self.began + limit:
                self.fail("DeadlineExceeded", "Job was active longer than specified deadline", pods)
        if len(done) == spec["completions"]:
            self.item["status"]["conditions"] = [{"type": "Complete", "status": "True"}]

    def delete(self):
        self.stopped = True
        for pod in list(self.cluster.pods.values()):
            if pod.item["metadata"]["labels"].get("job-name") == self.item["metadata"]["name"]:
                pod.delete()


class Cluster:
    def __init__(self, folder, path):
        self.folder, self.path = folder, path
        self.objects = {kind: {} for kind in KINDS if kind != "pods"}
        self.jobs, self.pods, self.started = {}, {}, []
        self.log, self.created = [], []
        self.variables = {}  # more variables of containers
        self.evicted = self.has_room = False
        self.quota = False  # whether pods of jobs are refused until it is False
        self.fail_next = collections.Counter()  # "METHOD kind": how many requests fail with status 500
        self.cut_logs = 0                       # connections for logs that end after the first line
        self.lock = threading.RLock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.cluster = self
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def volume(self, namespace, claim):
        if (namespace, claim) not in self.objects["persistentvolumeclaims"]:
            raise LookupError(f"persistentvolumeclaim \"{claim}\" not found")
        folder = os.path.join(self.folder, "volumes", namespace, claim)
        os.makedirs(folder, exist_ok=True)
        return folder

    def left(self):
        """Names of the objects that exist."""
        return sorted([f"{kind}/{name}" for kind, items in self.objects.items() for _, name in items] +
                      [f"pods/{name}" for _, name in self.pods])

    def stop(self):
        for pod in list(self.pods.values()):
            pod.end(signal.SIGKILL)
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kubeconfig(self, path, context="main", namespace=None):
        place = {"cluster": "stand-in", "user": "me", **({"namespace": namespace} if namespace else {})}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": context,
                  "clusters": [{"name": "stand-in", "cluster": {"server": self.address}}],
                  "users": [{"name": "me", "user": {}}], "contexts": [{"name": context, "context": place}]}
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    # --- requests ---

    def create(self, kind, namespace, item):
        check_object(kind, item)
        metadata = item["metadata"]
        if metadata.setdefault("namespace", namespace) != namespace:
            raise ValueError("the namespace of the provided object does not match the namespace sent on the request")
        key = (namespace, metadata["name"])
        if key in (self.pods if kind == "pods" else self.objects[kind]):
            raise FileExistsError(f'{kind} "{key[1]}" already exists')
        self.created.append(copy.deepcopy(item))
        metadata.update(uid=str(uuid.uuid4()), creationTimestamp=now(), resourceVersion="1")
        if kind == "pods":
            pod = self.pods[key] = Pod(self, key[1], namespace, metadata["labels"], item["spec"])
            pod.start()
            return pod.item
        self.objects[kind][key] = item
        if kind == "jobs":
            self.jobs[key] = Job(self, item)
        return item

    def find(self, kind, namespace, name):
        if kind == "pods":
            return self.pods[(namespace, name)].item
        return self.objects[kind][(namespace, name)]

    def list(self, kind, namespace, selector):
        if kind == "events":
            return [{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": namespace}, "type": "Warning",
                     "reason": "FailedCreate", "message": "pods are forbidden: exceeded quota: gpus",
                     "involvedObject": {"name": name}} for _, name in self.jobs if self.quota]
        items = [p.item for p in self.pods.values()] if kind == "pods" else list(self.objects[kind].values())
        wanted = dict(part.split("=", 1) for part in selector.split(",")) if selector else {}
        return [item for item in items if item["metadata"]["namespace"] == namespace and
                all(item["metadata"].get("labels", {}).get(k) == v for k, v in wanted.items())]

    def delete(self, kind, namespace, name):
        if kind == "pods":
            self.pods[(namespace, name)].delete()
            return
        del self.objects[kind][(namespace, name)]
        if kind == "jobs":
            self.jobs.pop((namespace, name)).delete()
        if kind == "persistentvolumeclaims":
            shutil.rmtree(os.path.join(self.folder, "volumes", namespace, name), ignore_errors=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, reason, message):
        self.reply(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
                            "code": status, "details": {"causes": [{"message": message}]} if status == 422 else None})

    def discovery(self, path):
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            version = {"groupVersion": "batch/v1", "version": "v1"}
            return {"kind": "APIGroupList", "apiVersion": "v1",
                    "groups": [{"name": "batch", "versions": [version], "preferredVersion": version}]}
        if path == "/version":
            return {"major": "1", "minor": "31", "gitVersion": "v1.31.0"}
        if path in ("/api/v1", "/apis/batch/v1"):
            version = "v1" if path == "/api/v1" else "batch/v1"
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [
                {"name": kind, "singularName": name.lower(), "namespaced": True, "kind": name, "shortNames": SHORT[kind],
                 "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]}
                for kind, (name, of) in KINDS.items() if of == version]}
        return None

    def handle_request(self):
        cluster = self.server.cluster
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        found = self.discovery(url.path)
        if found:
            return self.reply(200, found)
        match = re.match(r"^/(?:api/v1|apis/batch/v1)/namespaces/([^/]+)/([^/]+)(?:/([^/]+))?(?:/([^/]+))?$", url.path)
        if not match or match[2] not in KINDS:
            return self.problem(404, "NotFound", f"the server could not find the requested resource {url.path}")
        namespace, kind, name, part = match.groups()
        with cluster.lock:
            cluster.log.append((self.command, kind, name, part, {k: v for k, v in query.items()}))
            if cluster.fail_next[f"{self.command} {part or kind}"] > 0:
                cluster.fail_next[f"{self.command} {part or kind}"] -= 1
                return self.problem(500, "InternalError", "etcdserver: leader changed")
        try:
            if part == "log":
                return self.send_log(cluster.pods[(namespace, name)], query)
            if part == "exec":
                return self.execute(cluster.pods[(namespace, name)], query["command"])
            with cluster.lock:
                if self.command == "POST":
                    return self.reply(201, cluster.create(kind, namespace, json.loads(body)))
                if self.command == "DELETE":
                    cluster.delete(kind, namespace, name)
                    return self.reply(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})
                if name:
                    return self.reply(200, cluster.find(kind, namespace, name))
                text, version = KINDS[kind]
                items = cluster.list(kind, namespace, query.get("labelSelector", [""])[0])
                return self.reply(200, {"kind": text + "List", "apiVersion": version, "metadata": {"resourceVersion": "1"},
                                        "items": items})
        except KeyError:
            self.problem(404, "NotFound", f'{kind} "{name}" not found')
        except FileExistsError as problem:
            self.problem(409, "AlreadyExists", str(problem))
        except ValueError as problem:
            self.problem(422, "Invalid", str(problem))

    do_GET = do_POST = do_DELETE = handle_request

    def send_log(self, pod, query):
        if "waiting" in pod.item["status"].get("containerStatuses", [{"state": {"waiting": {}}}])[0]["state"]:
            return self.problem(400, "BadRequest", "container is waiting to start")
        cluster, since = self.server.cluster, query.get("sinceTime", [""])[0]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        at, first = 0, True
        while True:
            over = pod.over.is_set()
            lines = pod.lines[at:]
            at += len(lines)
            for stamp, line in lines:
                if since and stamp[:19] < since[:19]:  # whole seconds, as the real one
                    continue
                text = (stamp.encode() + b" " if query.get("timestamps") == ["true"] else b"") + line
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.wfile.flush()
                if first and cluster.cut_logs > 0:
                    cluster.cut_logs -= 1
                    self.close_connection = True
                    return self.connection.shutdown(socket.SHUT_RDWR)
                first = False
            if (over and at == len(pod.lines)) or query.get("follow") != ["true"]:
                break
            time.sleep(0.03)
        self.wfile.write(b"0\r\n\r\n")

    # --- exec ---

    def execute(self, pod, command):
        self.close_connection = True
        if pod.item["status"]["phase"] != "Running":
            return self.problem(400, "BadRequest", "container is not running")
        if "websocket" in (self.headers.get("Upgrade") or "").lower():
            return self.problem(400, "BadRequest", "WebSocket is unsupported")
        is_spdy = "SPDY" in (self.headers.get("Upgrade") or "")
        if is_spdy:
            self.send_response(101)
            self.send_header("Upgrade", "SPDY/3.1")
            self.send_header("Connection", "Upgrade")
            self.send_header("X-Stream-Protocol-Version", "v4.channel.k8s.io")
            self.end_headers()
            self.wfile.flush()
            streams = Spdy(self.connection, self.rfile).accept(3)  # in the order in which kubectl opens them
        done = subprocess.Popen(pod.words(command), env=pod.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = done.communicate()
        if is_spdy:
            streams.finish(output, errors, done.returncode)
        else:
            self.reply(200, {"stdout": output.hex(), "stderr": errors.decode(), "status": done.returncode})


class Spdy:
    """The server's side of SPDY 3.1, as far as exec without input needs it. Headers that we send are compressed without the
    dictionary, which a reader accepts; those that we receive are not looked at: kubectl opens error, stdout and stderr in this
    order."""

    def __init__(self, connection, rfile):
        self.connection, self.rfile, self.streams = connection, rfile, []
        self.compress = zlib.compressobj()
        self.credit = {}

    def read_frame(self):
        head = self.rfile.read(8)
        if len(head) < 8:
            raise ConnectionError("the connection has ended")
        first, second = struct.unpack(">II", head)
        data = self.rfile.read(second & 0xFFFFFF)
        return first, second >> 24, data

    def handle(self, first, data):
        kind = first & 0xFFFF
        if not first >> 31:
            return
        if kind == 1:  # SYN_STREAM
            stream = struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF
            self.streams.append(stream)
            self.credit[stream] = 65536
            block = self.compress.compress(struct.pack(">I", 0)) + self.compress.flush(zlib.Z_SYNC_FLUSH)
            self.connection.sendall(struct.pack(">III", 0x80030002, 4 + len(block), stream) + block)
        elif kind == 9:  # WINDOW_UPDATE
            stream, more = struct.unpack(">II", data)
            self.credit[stream & 0x7FFFFFFF] = self.credit.get(stream & 0x7FFFFFFF, 0) + more
        elif kind == 6:  # PING
            self.connection.sendall(struct.pack(">II", 0x80030006, 4) + data)

    def accept(self, count):
        while len(self.streams) < count:
            first, _, data = self.read_frame()
            self.handle(first, data)
        return self

    def send(self, stream, data, last):
        for at in range(0, len(data), 16384):
            part = data[at:at + 16384]
            self.connection.sendall(struct.pack(">II", stream, len(part)) + part)
        if last:
            self.connection.sendall(struct.pack(">II", stream, 0x01000000))

    def finish(self, output, errors, status):
        error, out, err = self.streams
        result = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        if status:
            result.update(status="Failure", reason="NonZeroExitCode", message=f"command terminated with non-zero exit code: {status}",
                          details={"causes": [{"reason": "ExitCode", "message": str(status)}]})
        self.send(out, output, True)
        self.send(err, errors, True)
        self.send(error, json.dumps(result).encode(), True)
        self.connection.settimeout(10)
        try:
            while True:
                first, _, data = self.read_frame()
                self.handle(first, data)
        except (ConnectionError, OSError):
            pass
