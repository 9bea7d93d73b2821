#!/usr/bin/env python3
"""A server for HTTP/3 and, on the same port, HTTP/2 and HTTP/1.1 over TCP; and a UDP relay that stops after a while.

    http3.py CERTIFICATE KEY PORT ONLY VANISHING OTHER-CERTIFICATE OTHER-KEY OTHER

PORT is the server's. On ONLY it speaks HTTP/3 and nothing else. The datagrams to the port VANISHING are passed on to PORT, and
the answers back, until the first hundred have been. On OTHER it speaks HTTP/3 with the other certificate.

/used answers with the field Alt-Used of the request, /version with the version of HTTP and the length of the request's body, /bytes/N with N bytes, /stall with a head and
no end, /echo with the body of the request as it arrives. Every answer over TCP names the server over HTTP/3 in an Alt-Svc field.
"""

import asyncio
import sys

import hypercorn.asyncio
import hypercorn.config


async def answer(scope, receive, send):
    if scope["type"] != "http":
        return
    if scope["path"] == "/echo":
        return await echo(receive, send)
    count = 0
    while True:
        message = await receive()
        count += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    path = scope["path"]
    if path.startswith("/bytes/"):
        left = int(path.removeprefix("/bytes/"))
        await begin(send, left)
        while left > 0:
            piece = bytes(min(left, 65_536))
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
    elif path == "/used":
        text = dict(scope["headers"]).get(b"alt-used", b"none")
        await begin(send, len(text))
        await send({"type": "http.response.body", "body": text})
    elif path == "/stall":
        await begin(send, 1_000)
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await receive()
    else:
        text = f"HTTP/{scope['http_version']}, {count} bytes".encode()
        await begin(send, len(text))
        await send({"type": "http.response.body", "body": text})


async def echo(receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    while True:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)
        await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})
        if not more:
            break


async def begin(send, length):
    fields = [(b"content-type", b"text/plain"), (b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": fields})


class Front(asyncio.DatagramProtocol):
    """The side of the clients."""

    def __init__(self, port):
        self.port, self.ways = port, {}

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, client):
        asyncio.ensure_future(self.forward(data, client))

    async def forward(self, data, client):
        if client not in self.ways:
            way = asyncio.get_running_loop().create_datagram_endpoint(
                lambda: Way(self, client), remote_addr=("127.0.0.1", self.port))
            self.ways[client] = asyncio.ensure_future(way)
        transport, way = await self.ways[client]
        if way.left > 0:
            way.left -= 1
            transport.sendto(data)


class Way(asyncio.DatagramProtocol):
    """The connection of one client: it carries a hundred datagrams each way."""

    def __init__(self, front, client):
        self.front, self.client, self.left, self.back = front, client, 100, 100

    def datagram_received(self, data, _):
        if self.back > 0:
            self.back -= 1
            self.front.transport.sendto(data, self.client)


def serve(certificate, key, tcp, udp):
    configuration = hypercorn.config.Config()
    configuration.certfile, configuration.keyfile = certificate, key
    configuration.bind, configuration.quic_bind = [f"127.0.0.1:{port}" for port in tcp], [f"127.0.0.1:{udp}"]
    configuration.errorlog = None
    return hypercorn.asyncio.serve(answer, configuration)


async def main(certificate, key, port, only, vanishing, other_certificate, other_key, other):
    await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Front(int(port)), local_addr=("127.0.0.1", int(vanishing)))
    await asyncio.gather(
        serve(certificate, key, [port], port), serve(certificate, key, [], only),
        serve(other_certificate, other_key, [], other))


asyncio.run(main(*sys.argv[1:]))
