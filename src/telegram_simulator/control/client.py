"""A small client of the control port, for tests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import httpx


class ControlClient:
    """Makes things happen in a simulator of another process."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, method: str, path: str, /, **body: Any) -> Any:
        """Any call of the control port; its answer as JSON."""
        response = self._http.request(method, path, json=body)
        response.raise_for_status()
        return response.json()

    def session(self, phone: str, *, joined: Sequence[int] | None = None) -> str:
        """A login for that phone, made with its account if there is none."""
        self.ask("POST", "/accounts", phone=phone, joined=None if joined is None else list(joined))
        session: str = self.ask("POST", f"/accounts/{phone}/session")["session"]
        return session

    def post(self, channel_id: int, text: str, **more: Any) -> list[int]:
        return [
            made_post["message_id"]
            for made_post in self.ask("POST", f"/channels/{channel_id}/posts", text=text, **more)
        ]

    def edit(self, channel_id: int, message_id: int, text: str, **more: Any) -> None:
        self.ask("PATCH", f"/channels/{channel_id}/posts/{message_id}", text=text, **more)

    def delete(self, channel_id: int, ids: Sequence[int], **more: Any) -> None:
        self.ask("DELETE", f"/channels/{channel_id}/posts", ids=list(ids), **more)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.ask("GET", "/state")
        return state

    def stories(self) -> Iterator[dict[str, Any]]:
        return self._lines("/truth/stories")

    def pages(self) -> Iterator[dict[str, Any]]:
        return self._lines("/truth/pages")

    def truth(self, channel_id: int | None = None, *, files: bool = False) -> Iterator[dict[str, Any]]:
        """With `files`, the hashes of files too."""
        params = ({} if channel_id is None else {"channel": channel_id}) | ({"files": 1} if files else {})
        return self._lines("/truth", params)

    def _lines(self, path: str, params: Mapping[str, int] | None = None) -> Iterator[dict[str, Any]]:
        with self._http.stream("GET", path, params=params) as response:
            for line in response.iter_lines():
                yield json.loads(line)
