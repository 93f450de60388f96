"""One TCP connection: packets in, answers and updates out."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any, Protocol

from telethon.tl import functions, types

from telegram_simulator.mtproto.crypto import NotAuthentic, RsaKey, decrypt, encrypt
from telegram_simulator.mtproto.handshake import Handshake, plain
from telegram_simulator.mtproto.keys import KeyRecord, Keys, Session
from telegram_simulator.mtproto.packets import (
    Call,
    Malformed,
    Message,
    Plaintext,
    error_answer,
    parse_object,
    parse_plaintext,
    result,
    unpack,
    unwrap,
)
from telegram_simulator.mtproto.transport import (
    TOO_MANY_CONNECTIONS,
    UNKNOWN_KEY,
    BadFrame,
    Framing,
    detect,
    transport_error,
)

TOO_OLD_SECONDS = 300
TOO_NEW_SECONDS = 30
WRONG_SALT, ID_TOO_LOW, ID_TOO_HIGH = 48, 16, 17
FUTURE_SALTS = 0xAE500895
MAX_UNSENT_BYTES = 64 * 1024 * 1024

IGNORED = (
    types.MsgsAck,
    types.MsgsStateReq,
    types.MsgResendReq,
    types.MsgsAllInfo,
    types.HttpWait,
    types.MsgsStateInfo,
)


class Backend(Protocol):
    """The part of the server that a connection uses."""

    keys: Keys
    rsa_key: RsaKey
    salt: int
    gzip_level: int

    def now(self) -> float: ...
    def latency_seconds(self) -> float: ...
    def call(self, call: Call, connection: "Connection", record: KeyRecord, session: Session) -> bytes: ...


class Connection:
    """Reads until the client goes, or says something that makes no sense."""

    def __init__(
        self, backend: Backend, dc_id: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.dc_id = dc_id
        self.peer: str = writer.get_extra_info("peername")[0]
        self.calls = 0
        self.wants_updates: Session | None = None
        """The session that updates go to: the last one that made a call of its own over this connection."""
        self._backend = backend
        self._reader = reader
        self._writer = writer
        self._framing: Framing | None = None
        self._record: KeyRecord | None = None
        self._handshake = Handshake(backend.rsa_key, backend.now, self._key_made)

    @property
    def record(self) -> KeyRecord | None:
        return self._record

    async def run(self, *, too_many: bool = False) -> None:
        try:
            self._framing = await detect(self._reader)
            if too_many:
                await self._framing.read()
                self._write(transport_error(TOO_MANY_CONNECTIONS))
                return
            while not self._writer.is_closing():  # what was buffered when it was dropped never arrived
                self._receive(await self._framing.read())
                await self._writer.drain()
        except (
            asyncio.IncompleteReadError,
            BadFrame,
            Malformed,
            NotAuthentic,
            ConnectionError,
            struct.error,
        ):
            pass
        finally:
            self.close()

    def close(self, *, abruptly: bool = False) -> None:
        if self._record is not None and self in self._record.connections:
            self._record.connections.remove(self)
        if abruptly:
            self._writer.transport.abort()
        else:
            self._writer.close()

    def push(self, update: Any) -> None:
        """Send an update, if this connection has asked for anything yet."""
        if self.wants_updates is not None and self._record is not None:
            self._send(self._record, self.wants_updates, bytes(update), is_reply=False)

    # --- in ---

    def _receive(self, packet: bytes) -> None:
        if len(packet) < 20:
            raise Malformed
        if packet[:8] == bytes(8):
            (length,) = struct.unpack_from("<i", packet, 16)
            try:
                answer = self._handshake.answer(packet[20 : 20 + length])
            except BadFrame:
                raise
            except Exception as error:
                raise Malformed from error
            self._write(plain(answer, Session(b"").next_msg_id(self._backend.now(), is_reply=True)))
            return
        record = self._backend.keys.get(packet[:8])
        if record is None or record.dc_id != self.dc_id:
            self._write(transport_error(UNKNOWN_KEY))
            raise BadFrame
        plaintext = parse_plaintext(decrypt(record.key, packet))
        self._adopt(record)
        session = record.session(plaintext.session_id)
        if self._is_acceptable(record, session, plaintext):
            if not session.greeted:
                session.greeted = True
                created = types.NewSessionCreated(
                    plaintext.message.msg_id,
                    int.from_bytes(session.session_id, "little", signed=True),
                    self._backend.salt,
                )
                self._send(record, session, bytes(created), is_reply=False)
            for message in unpack(plaintext.message):
                self._handle(record, session, message)

    def _adopt(self, record: KeyRecord) -> None:
        if self._record is not record:
            if self._record is not None and self in self._record.connections:
                self._record.connections.remove(self)
            self._record = record
            record.connections.append(self)

    def _is_acceptable(self, record: KeyRecord, session: Session, plaintext: Plaintext) -> bool:
        """Salt and time must be right; the client is told how to put them right."""
        message, now = plaintext.message, self._backend.now()
        sent_at = message.msg_id / 2**32
        if sent_at < now - TOO_OLD_SECONDS or sent_at > now + TOO_NEW_SECONDS:
            code = ID_TOO_LOW if sent_at < now else ID_TOO_HIGH
            self._send(
                record,
                session,
                bytes(types.BadMsgNotification(message.msg_id, message.seq_no, code)),
                is_content=False,
            )
            return False
        if plaintext.salt != self._backend.salt:
            notice = types.BadServerSalt(message.msg_id, message.seq_no, WRONG_SALT, self._backend.salt)
            self._send(record, session, bytes(notice), is_content=False)
            return False
        return True

    def _handle(self, record: KeyRecord, session: Session, message: Message) -> None:
        if not session.is_new(message.msg_id):
            return
        try:
            body = parse_object(message.body)
        except Malformed:
            self._answer(record, session, message, error_answer(400, "INPUT_METHOD_INVALID"))
            return
        match body:
            case functions.PingRequest() | functions.PingDelayDisconnectRequest():
                self._send(record, session, bytes(types.Pong(message.msg_id, body.ping_id)), is_content=False)
            case functions.GetFutureSaltsRequest():
                self._send(record, session, self._future_salts(message.msg_id), is_content=False)
            case functions.DestroySessionRequest():
                self._send(record, session, bytes(types.DestroySessionOk(body.session_id)), is_content=False)
            case _ if isinstance(body, IGNORED):
                pass
            case _:
                self._call(record, session, message, body)

    def _call(self, record: KeyRecord, session: Session, message: Message, body: Any) -> None:
        call = unwrap(body)
        if call.layer is not None:
            record.layer = call.layer
        if not call.without_updates:
            self.wants_updates = session
        answer = self._backend.call(call, self, record, session)
        self._answer(record, session, message, answer)

    def _future_salts(self, msg_id: int) -> bytes:
        now = int(self._backend.now())
        return struct.pack("<Iqii", FUTURE_SALTS, msg_id, now, 1) + struct.pack(
            "<iiq", now - 60, now + 1800, self._backend.salt
        )

    # --- out ---

    def _answer(self, record: KeyRecord, session: Session, message: Message, answer: bytes) -> None:
        body = result(message.msg_id, answer, gzip_level=self._backend.gzip_level)
        self._after_latency(lambda: self._send(record, session, body))

    def _after_latency(self, send: Callable[[], None]) -> None:
        delay_seconds = self._backend.latency_seconds()
        if delay_seconds:
            asyncio.get_running_loop().call_later(delay_seconds, send)
        else:
            send()

    def _send(
        self,
        record: KeyRecord,
        session: Session,
        body: bytes,
        *,
        is_reply: bool = True,
        is_content: bool = True,
    ) -> None:
        msg_id = session.next_msg_id(self._backend.now(), is_reply=is_reply)
        packet_head = struct.pack(
            "<q8sqii",
            self._backend.salt,
            session.session_id,
            msg_id,
            session.next_seq_no(is_content=is_content),
            len(body),
        )
        self._write(encrypt(record.key, record.key_id, packet_head + body))

    def _write(self, packet: bytes) -> None:
        if self._framing is None or self._writer.is_closing():
            return
        self._writer.write(self._framing.pack(packet))
        if self._writer.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self.close(abruptly=True)

    def _key_made(self, key: bytes) -> None:
        self._backend.keys.add(key, self.dc_id)
