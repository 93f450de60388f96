"""The control port."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import islice
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from telegram_simulator.control import seeing
from telegram_simulator.control.access import ControlAccess
from telegram_simulator.control.bodies import (
    AccountBody,
    AlbumBody,
    Body,
    ChannelBody,
    ChannelChange,
    Churn,
    Deletion,
    Drop,
    FailureBody,
    FolderBody,
    LimitBody,
    LoginBody,
    Phone,
    PostBody,
    PostChange,
    SharedFolder,
    Trim,
    TroubleBody,
)
from telegram_simulator.control.operations import Control, NoSuchThing
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.account import TROUBLES
from telegram_simulator.world.post import Entity, Post

HELP = """This is not Telegram. It is a simulator on your own machine, for tests and demonstrations.
Requests need the header `Authorization: Bearer KEY` with the key of this start, except GET / and GET /key; \
changes also need
`Content-Type: application/json`. tga-sim prints the key when it starts, \
or writes it into the file of --where.

GET    /                         this text
GET    /state                    counters: calls by account and method, errors, connections, waits, \
keys used twice
GET    /trace?limit=100          the last calls
GET    /channels                 every channel: its id, title and name
GET    /truth?channel=ID&files=1 every post with all its texts, and in the demo what it truly is, JSON lines
GET    /truth/stories            demo: every story with its posts, and what was planted in it, JSON lines
GET    /truth/pages              demo: every page that posts link to, with its kind, title, author, \
date and text, JSON lines
GET    /key                      the server's public key (PEM), for TELEGRAM_DC_PUBLIC_KEY
GET    /where                    addresses of the data centres and of the web server

POST   /accounts                 {phone, premium?, state?, joined?, password?, home_dc?}   \
states: ok frozen banned revoked unregistered
POST   /accounts/PHONE/session   a login as a Telethon session string
POST   /accounts/PHONE/folders   {title, channels?, all_channels?, without?, number?}   \
a folder, and what is in it now
DELETE /accounts/PHONE/folders/N
POST   /folders                  {slug, title?, channels?}   shared by the link t.me/addlist/SLUG; \
without channels it expires
POST   /login-tokens/accept      {phone, token?}        scan a QR code: this one, or the newest that waits
POST   /channels                 {title, username?, invite?, group?}
PATCH  /channels/ID              {title?, username?, private?, protected?, preview?, ban?, unban?}
POST   /channels/ID/posts        {text?, entities?, media?, size?, dc_id?, name?, same_file?, \
reply_to?, origin?, author?, count?, deliver?}
POST   /channels/ID/albums       {kinds, caption?, deliver?}
PATCH  /channels/ID/posts/N      {text?, reactions?, views?, deliver?}
DELETE /channels/ID/posts        {ids, deliver?}
POST   /channels/ID/trim         {keep}                 forget differences but the newest
POST   /churn                    {edits?, deletions?, seed?}   many silent changes, spread over the world

POST   /connections/drop         {phone?, abruptly?}
POST   /trouble                  {latency_seconds?, refuse_connections?, too_many_connections?, \
drop_updates?, clock_skew_seconds?,
                                  web_latency_seconds?, web_status?, web_retry_after_seconds?, \
web_unknown_markup?,
                                  slow_page_seconds?, huge_page_bytes?,
                                 login_token_seconds?}  how long a QR code is good: 30
POST   /failures                 {method, times?, code, message, phone?, after?}   \
the next calls of a method fail
POST   /limits                   {method, rules: [[calls, seconds, wait], ...]}
DELETE /limits                   forget all waits
POST   /files/expire             file references expire
POST   /keys/revoke              {phone}                every call gets SESSION_REVOKED
POST   /keys/forget              {phone}                the server loses the keys
POST   /salt/rotate
"""


type Endpoint = Callable[[Request], Awaitable[Response]]


def control_app(simulator: Simulator, *, key: str) -> ASGIApp:
    """All of it, over HTTP, for those who send the key."""
    control = Control(simulator)
    routes = [
        *_questions(simulator),
        *_people(control),
        *_apps(OtherApps(simulator)),
        *_posts(control),
        *_trouble(simulator, control),
    ]
    return ControlAccess(Starlette(routes=routes), key)


def read_body_and_act[B: Body](body: type[B], act: Callable[[B, Request], Any]) -> Endpoint:
    """An endpoint that reads a body, acts, and answers with what the act gives."""

    async def endpoint(request: Request) -> Response:
        try:
            parsed_body = body.model_validate_json(await request.body() or b"{}")
            return JSONResponse(act(parsed_body, request))
        except ValidationError as error:
            return JSONResponse(
                {"wrong": json.loads(error.json(include_url=False, include_input=False))}, status_code=400
            )
        except NoSuchThing as error:
            return JSONResponse({"missing": str(error)}, status_code=404)

    return endpoint


def as_endpoint(answer: Callable[[Request], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return answer(request)

    return endpoint


def channel_in(request: Request) -> int:
    return int(request.path_params["channel"])


def _questions(simulator: Simulator) -> list[Route]:
    def truth(request: Request) -> Response:
        channel = request.query_params.get("channel")
        lines = seeing.truth(
            simulator.world,
            int(channel) if channel else None,
            with_files=request.query_params.get("files") == "1",
        )
        return StreamingResponse(_json_lines(lines), media_type="application/jsonl")

    return [
        Route("/", as_endpoint(lambda _: PlainTextResponse(HELP))),
        Route("/state", as_endpoint(lambda _: JSONResponse(seeing.state(simulator)))),
        Route(
            "/trace",
            as_endpoint(
                lambda request: JSONResponse(
                    seeing.trace(simulator, int(request.query_params.get("limit", "100")))
                )
            ),
        ),
        Route("/channels", as_endpoint(lambda _: JSONResponse(seeing.channels(simulator.world)))),
        Route("/truth", as_endpoint(truth)),
        Route("/truth/stories", as_endpoint(lambda _: _stream_lines(simulator.world.stories()))),
        Route("/truth/pages", as_endpoint(lambda _: _stream_lines(simulator.world.press.truth()))),
        Route("/key", as_endpoint(lambda _: PlainTextResponse(simulator.rsa_key.public_pem))),
        Route(
            "/where",
            as_endpoint(
                lambda _: JSONResponse(
                    {"host": simulator.host, "ports": simulator.ports, "web": simulator.web_url}
                )
            ),
        ),
    ]


def _people(control: Control) -> list[Route]:
    def change_account(body: AccountBody, _request: Request) -> Any:
        if body.state is not None and body.state not in TROUBLES:
            raise NoSuchThing(f"state {body.state}; there are: {', '.join(TROUBLES)}")
        return control.account(**body.model_dump())

    def session(_body: Body, request: Request) -> Any:
        return {"session": control.session_string(request.path_params["phone"])}

    def add_channel(body: ChannelBody, _request: Request) -> Any:
        return {"channel_id": control.add_channel(**body.model_dump()).channel_id}

    def change_channel(body: ChannelChange, request: Request) -> Any:
        control.change_channel(channel_in(request), **body.model_dump(exclude_none=True))

    return [
        Route("/accounts", read_body_and_act(AccountBody, change_account), methods=["POST"]),
        Route("/accounts/{phone}/session", read_body_and_act(Body, session), methods=["POST"]),
        Route("/channels", read_body_and_act(ChannelBody, add_channel), methods=["POST"]),
        Route("/channels/{channel:int}", read_body_and_act(ChannelChange, change_channel), methods=["PATCH"]),
    ]


def _apps(people: OtherApps) -> list[Route]:
    def put(body: FolderBody, request: Request) -> Any:
        return {"number": people.put_into_folder(request.path_params["phone"], **body.model_dump())}

    def drop(_body: Body, request: Request) -> Any:
        people.drop_folder(request.path_params["phone"], int(request.path_params["number"]))

    return [
        Route("/accounts/{phone}/folders", read_body_and_act(FolderBody, put), methods=["POST"]),
        Route("/accounts/{phone}/folders/{number:int}", read_body_and_act(Body, drop), methods=["DELETE"]),
        Route(
            "/folders",
            read_body_and_act(
                SharedFolder, lambda body, _: {"link": people.share_folder(**body.model_dump())}
            ),
            methods=["POST"],
        ),
        Route(
            "/login-tokens/accept",
            read_body_and_act(LoginBody, lambda body, _: people.accept_login(**body.model_dump())),
            methods=["POST"],
        ),
    ]


def _posts(control: Control) -> list[Route]:
    def publish(body: PostBody, request: Request) -> Any:
        options = body.model_dump(exclude={"count", "text", "entities"})
        entities = [Entity(**entity.model_dump()) for entity in body.entities]
        return [
            post_as_json(control.post(channel_in(request), body.text, entities=entities, **options))
            for _ in range(body.count)
        ]

    def album(body: AlbumBody, request: Request) -> Any:
        return [
            post_as_json(post)
            for post in control.album(channel_in(request), body.kinds, body.caption, deliver=body.deliver)
        ]

    def change(body: PostChange, request: Request) -> Any:
        place_of_post = channel_in(request), int(request.path_params["message"])
        if body.views is not None:
            return control.view(*place_of_post, body.views)
        if body.reactions is not None:
            return post_as_json(control.react(*place_of_post, body.reactions, deliver=body.deliver))
        return post_as_json(control.edit(*place_of_post, body.text or "", deliver=body.deliver))

    def delete(body: Deletion, request: Request) -> Any:
        return control.delete(channel_in(request), body.ids, deliver=body.deliver)

    def trim(body: Trim, request: Request) -> Any:
        control.trim_differences(channel_in(request), body.keep)

    return [
        Route("/channels/{channel:int}/posts", read_body_and_act(PostBody, publish), methods=["POST"]),
        Route("/channels/{channel:int}/albums", read_body_and_act(AlbumBody, album), methods=["POST"]),
        Route(
            "/channels/{channel:int}/posts/{message:int}",
            read_body_and_act(PostChange, change),
            methods=["PATCH"],
        ),
        Route("/channels/{channel:int}/posts", read_body_and_act(Deletion, delete), methods=["DELETE"]),
        Route("/channels/{channel:int}/trim", read_body_and_act(Trim, trim), methods=["POST"]),
        Route(
            "/churn",
            read_body_and_act(Churn, lambda body, _: control.churn(**body.model_dump())),
            methods=["POST"],
        ),
    ]


def _trouble(simulator: Simulator, control: Control) -> list[Route]:
    def trouble(body: TroubleBody, _request: Request) -> Any:
        faults_by_name = body.model_dump(exclude_none=True)
        if "clock_skew_seconds" in faults_by_name:
            control.skew_clock(faults_by_name.pop("clock_skew_seconds"))
        for name, value in faults_by_name.items():
            setattr(simulator.faults, name, value)
        return {name: getattr(simulator.faults, name) for name in TroubleBody.model_fields}

    return [
        Route(
            "/connections/drop",
            read_body_and_act(
                Drop, lambda body, _: simulator.drop_connections(body.phone, abruptly=body.abruptly)
            ),
            methods=["POST"],
        ),
        Route("/trouble", read_body_and_act(TroubleBody, trouble), methods=["POST"]),
        Route(
            "/failures",
            read_body_and_act(FailureBody, lambda body, _: control.fail(**body.model_dump())),
            methods=["POST"],
        ),
        Route(
            "/limits",
            read_body_and_act(LimitBody, lambda body, _: control.set_limit(body.method, body.rules)),
            methods=["POST"],
        ),
        Route(
            "/limits", read_body_and_act(Body, lambda _body, _request: control.forgive()), methods=["DELETE"]
        ),
        Route(
            "/files/expire",
            read_body_and_act(Body, lambda _body, _request: control.expire_references()),
            methods=["POST"],
        ),
        Route(
            "/keys/revoke",
            read_body_and_act(Phone, lambda body, _: control.revoke_keys(body.phone)),
            methods=["POST"],
        ),
        Route(
            "/keys/forget",
            read_body_and_act(Phone, lambda body, _: control.forget_keys(body.phone)),
            methods=["POST"],
        ),
        Route(
            "/salt/rotate",
            read_body_and_act(Body, lambda _body, _request: control.rotate_salt()),
            methods=["POST"],
        ),
    ]


def post_as_json(post: Post) -> dict[str, Any]:
    """A post in an answer."""
    return {
        "message_id": post.message_id,
        "date": post.date,
        "text": post.text,
        "grouped_id": post.grouped_id,
    }


def _stream_lines(lines: Iterator[dict[str, Any]]) -> Response:
    return StreamingResponse(_json_lines(lines), media_type="application/jsonl")


async def _json_lines(lines: Iterator[dict[str, Any]]) -> AsyncIterator[str]:
    """A few hundred lines at a time, so that the rest of the world goes on in between."""
    while batch_lines := list(islice(lines, 200)):
        yield "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in batch_lines)
        await asyncio.sleep(0)
