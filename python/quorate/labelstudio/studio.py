"""Label Studio's REST API."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime
from typing import Any

from quorate.labelstudio.common import Json, SetupError

_PAGE = 100  # tasks per request
_ACTIONS = ["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"]


class LabelStudioError(RuntimeError):
    """Label Studio refused a request: ``status`` is HTTP's."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class LabelStudio:
    """Label Studio's REST API. The token is either kind: a personal access token, exchanged for short-lived ones, or a legacy
    token. It appears in no message."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise SetupError(f"--url {url!r}: expected an address that begins with http:// or https://")
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._personal = token.count(".") == 2
        self._access: str | None = None
        self._open = urllib.request.build_opener(_NoRedirect).open

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Raises LabelStudioError, or ConnectionError if Label Studio cannot be reached or has trouble of its own."""
        if self._personal and self._access is None:
            self._refresh()
        try:
            return self._request(method, path, body, self._authorization())
        except LabelStudioError as error:
            if error.status != 401 or not self._personal:
                raise
        self._refresh()
        return self._request(method, path, body, self._authorization())

    def project(self, named: str) -> Json | None:
        """The project of this number or title. Raises SetupError if there is none of the number, or several of the title."""
        if named.isdigit():
            try:
                found: Json = self.get(f"/api/projects/{named}")
                return found
            except LabelStudioError as error:
                if error.status != 404:
                    raise
                raise SetupError(f"--project {named}: no project has this number") from None
        listed = self.get("/api/projects", title=named, page_size=1000)["results"]
        same = [one for one in listed if one["title"] == named]
        if len(same) > 1:
            numbers = ", ".join(str(one["id"]) for one in same)
            raise SetupError(f"--project {named}: projects {numbers} have this title; expected the number of one")
        return same[0] if same else None

    def changed_tasks(self, project: int, since: datetime | None) -> tuple[list[Json], bool]:
        """The tasks that changed since then (None: all), the latest first, and whether none is missing: if tasks are deleted
        between two pages, others may be skipped."""
        found: dict[int, Json] = {}
        query = json.dumps({"ordering": ["-tasks:updated_at"]})
        page, total, reached = 1, 1, False
        while (page - 1) * _PAGE < total and not reached:
            try:
                reply = self.get("/api/tasks", project=project, fields="all", page_size=_PAGE, page=page, query=query)
            except LabelStudioError as error:
                if error.status == 404 and page > 1:
                    break  # tasks were deleted meanwhile
                raise
            total = reply["total"]
            for task in reply["tasks"]:
                changed = datetime.fromisoformat(task["updated_at"].replace("Z", "+00:00"))
                if reached := since is not None and changed < since:
                    break
                found[task["id"]] = {key: task.get(key) for key in ("id", "meta", "annotations")} | {"changed": changed}
            page += 1
        return list(found.values()), len(found) >= total

    def _authorization(self) -> str:
        return f"Bearer {self._access}" if self._personal else f"Token {self._token}"

    def _refresh(self) -> None:
        self._access = self._request("POST", "/api/token/refresh/", {"refresh": self._token}, None)["access"]

    def _request(self, method: str, path: str, body: Any, authorization: str | None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"Authorization": authorization} if authorization else {})
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            with self._open(request, timeout=self._timeout) as reply:
                text = reply.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                detail = self._detail(error)
            if error.code >= 500 or error.code == 429:
                raise ConnectionError(f"Label Studio at {self.url}: {error.code} {detail}") from None
            raise LabelStudioError(error.code, detail) from None
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionError(f"Label Studio at {self.url}: {getattr(error, 'reason', error)}") from None
        except ValueError:
            raise ConnectionError(f"Label Studio at {self.url}: {method} {path.split('?')[0]}: the reply is not JSON") from None

    def _detail(self, error: urllib.error.HTTPError) -> str:
        if 300 <= error.code < 400:
            return f"redirects to {error.headers.get('Location')}; expected that address as --url"
        text = error.read(100_000).decode(errors="replace")
        try:
            found = json.loads(text)
            text = "; ".join(str(found[k]) for k in ("detail", "validation_errors") if found.get(k)) or text
        except (ValueError, AttributeError):
            text = error.reason if text.lstrip().startswith("<") else text
        return " ".join(str(text).split())[:500].replace(self._token, "...")


class Webhook:
    """Registered with the project while the program runs. One that a killed program left is replaced."""

    def __init__(self, studio: LabelStudio, project: int, url: str, secret: str) -> None:
        self._studio = studio
        self._number: int | None = None
        for old in studio.get("/api/webhooks/", project=project):
            if old["url"] == url and old["project"] == project:
                studio.call("DELETE", f"/api/webhooks/{old['id']}/")
        body = {"url": url, "project": project, "send_payload": False, "send_for_all_actions": False, "actions": _ACTIONS}
        self._number = studio.call("POST", "/api/webhooks/", body | {"headers": {"X-Quorate": secret}})["id"]

    def close(self) -> None:
        try:
            self._studio.call("DELETE", f"/api/webhooks/{self._number}/")
        except (ConnectionError, LabelStudioError):
            pass
