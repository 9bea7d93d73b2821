"""A TLS server that shows another certificate with every second connection, and keeps connections until their peers leave.

usage: rotating.py FOLDER FIRST SECOND PORT_FILE: FIRST and SECOND are certificates (.pem) with keys (.key) in the folder
"""

import itertools
import os
import socket
import ssl
import sys
import threading

sys.dont_write_bytecode = True
from tlspeer import serve


def main():
    folder, *names, port_file = sys.argv[1:]
    contexts = []
    for name in names:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
        contexts.append(context)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with open(port_file + ".new", "w") as file:
        print(listener.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    for context in itertools.cycle(contexts):
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


main()
