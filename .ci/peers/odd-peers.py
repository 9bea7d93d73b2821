"""TLS servers, one for each certificate in a folder, that answer every request with the same text.

usage: odd-peers.py FOLDER PORTS_FILE: NAME.pem and NAME.key are a chain and its key; the file gets a line NAME=PORT for each
"""

import glob
import os
import socket
import ssl
import sys
import threading

sys.dont_write_bytecode = True
from tlspeer import serve


def accept(listener, context):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


def main():
    folder, ports_file = sys.argv[1:]
    ports = []
    for chain in sorted(glob.glob(folder + "/*.pem")):
        name = os.path.basename(chain)[: -len(".pem")]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # or a weak key cannot be shown
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(chain, f"{folder}/{name}.key")
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=accept, args=(listener, context), daemon=True).start()
        ports.append(f"{name}={listener.getsockname()[1]}\n")
    with open(ports_file + ".new", "w") as file:
        file.writelines(ports)
    os.rename(ports_file + ".new", ports_file)
    threading.Event().wait()


main()
