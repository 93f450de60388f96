"""Files, piece by piece."""

from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.tl.media import access_hash_of
from telegram_simulator.world.post import FileKind

MEGABYTE = 1024 * 1024
TYPES = {
    FileKind.JPEG: types.storage.FileJpeg,
    FileKind.PNG: types.storage.FilePng,
    FileKind.WEBP: types.storage.FileWebp,
    FileKind.GIF: types.storage.FileGif,
    FileKind.MP4: types.storage.FileMp4,
    FileKind.PDF: types.storage.FilePdf,
}


@answers(functions.upload.GetFileRequest)
def get_file(request: Any, caller: Caller) -> bytes:
    _check_piece(request.offset, request.limit, 1024 if request.precise else 4096)
    location = request.location
    if not isinstance(location, types.InputPhotoFileLocation | types.InputDocumentFileLocation):
        raise RpcError(400, "LOCATION_INVALID")
    epoch, channel_id, message_id = caller.world.read_reference(location.file_reference)
    if epoch == 0:
        raise RpcError(400, "FILE_REFERENCE_INVALID")
    if epoch < caller.world.reference_epoch:
        raise RpcError(400, "FILE_REFERENCE_EXPIRED")
    file = caller.world.file_of(channel_id, message_id)
    if file is None or (file.file_id, access_hash_of(file)) != (location.id, location.access_hash):
        raise RpcError(400, "FILE_ID_INVALID")
    if file.dc_id != caller.dc_id:
        raise RpcError(303, f"FILE_MIGRATE_{file.dc_id}")
    piece = caller.server.files.read(file, request.offset, request.limit)
    caller.server.counters.file_bytes += len(piece)
    return bytes(types.upload.File(type=TYPES[file.kind](), mtime=int(caller.server.now()), bytes=piece))


def _check_piece(offset: int, limit: int, grain: int) -> None:
    if offset < 0 or offset % grain:
        raise RpcError(400, "OFFSET_INVALID")
    if not 0 < limit <= MEGABYTE or limit % grain or (grain == 4096 and MEGABYTE % limit):
        raise RpcError(400, "LIMIT_INVALID")
    if offset // MEGABYTE != (offset + limit - 1) // MEGABYTE:
        raise RpcError(400, "LIMIT_INVALID")
