"""Secrets in HTTP exchanges, taken out the same way when an exchange is recorded and when a request is looked up."""

import json
import re
import urllib.parse

GONE = "REDACTED"
HEADERS = frozenset({
    "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token",
    "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key", "x-vault-token", "private-token", "job-token", "deploy-token",
    "x-gitlab-token", "x-hub-signature", "x-hub-signature-256", "www-authenticate", "proxy-authenticate", "authentication-info",
    "x-amz-signature", "x-functions-key", "ocp-apim-subscription-key",
})  # fmt: skip
_NAMES = re.compile(
    r"(?i)(?:^|[_.\-])(?:token|access[_-]?token|refresh[_-]?token|id[_-]?token|secret|client[_-]?secret|password|passwd|passphrase|pwd"
    r"|api[_-]?key|apikey|auth|authorization|credential|credentials|private[_-]?key|signature|sig|session|sessionid|jwt|key|code[_-]?verifier"
    r"|assertion)(?:$|[_.\-])"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKENS = re.compile(
    r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{16}|sk-[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*|(?i:bearer|basic)\s+[\w.~+/=-]{8,})"
)
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL)
_SECRET_VARIABLE = re.compile(r"(?i)(?:token|secret|passw|pwd|api_?key|credential|private_?key|auth)")
_SHORTEST = 6


def is_secret(name):
    """Whether a field of this name holds a secret."""
    return _NAMES.search(_CAMEL.sub("_", name)) is not None


def values_of(environ):
    """Values of variables whose names say that they are secret; what is shorter than six characters is none."""
    return sorted({value for name, value in environ.items() if _SECRET_VARIABLE.search(name) and len(value) >= _SHORTEST}, key=len, reverse=True)


def text(value, known=()):
    """A text without known values and without what looks like a token."""
    for secret in known:
        value = value.replace(secret, GONE).replace(urllib.parse.quote(secret, safe=""), GONE)
    return _TOKENS.sub(GONE, _PRIVATE.sub(GONE, value))


def uri(value, known=()):
    """An address without user, password and secret parameters."""
    parts = urllib.parse.urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    kept = [(name, GONE if is_secret(name) else item) for name, item in query]
    made = urllib.parse.urlencode(kept) if kept != query else parts.query
    return text(urllib.parse.urlunsplit((parts.scheme, host, parts.path, made, "")), known)


def headers(values, known=()):
    """Headers, as name to list of texts, without the values of secret ones."""
    found = {}
    for name, items in values.items():
        plain = items if isinstance(items, (list, tuple)) else [items]
        hidden = name.lower() in HEADERS or is_secret(name)
        found[name] = [GONE if hidden else text(item if isinstance(item, str) else str(item, "latin-1"), known) for item in plain]
    return found


def body(data, known=()):
    """A body, text or bytes, without secret fields of JSON and forms."""
    if not data:
        return data
    if isinstance(data, (bytes, bytearray)):
        try:
            plain = bytes(data).decode("utf-8")
        except UnicodeDecodeError:
            return bytes(data)
        return body(plain, known).encode("utf-8")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return text(_form(data), known)
    kept = _fields(value)
    return text(data if kept == value else json.dumps(kept), known)


def _fields(value):
    if isinstance(value, dict):
        return {name: GONE if is_secret(str(name)) and not isinstance(item, (dict, list)) else _fields(item) for name, item in value.items()}
    return [_fields(item) for item in value] if isinstance(value, list) else value


def _form(data):
    if "=" not in data or any(mark in data for mark in "\n<{ "):
        return data
    pairs = urllib.parse.parse_qsl(data, keep_blank_values=True)
    kept = [(name, GONE if is_secret(name) else item) for name, item in pairs]
    return urllib.parse.urlencode(kept) if kept != pairs else data
