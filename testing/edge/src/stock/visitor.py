"""A client that sends one request after the other: by curl_cffi, or by runs of the program curl.

    visitor.py curl-cffi|curl ORIGIN AUTHORITY.pem HOST:PORT:ADDRESS PAUSE PREFIX

PAUSE is in milliseconds. Each request becomes a line of the output, as `stock/mod.rs` reads it. Alternatives and cookies
are in the current directory.
"""

import os
import re
import subprocess
import sys
import time

by, origin, authority, resolve, pause, prefix = sys.argv[1:]
ALTERNATIVES = os.path.abspath("alternatives")


def by_curl_cffi():
    from curl_cffi import CurlOpt, Session

    # Over HTTP/2 (CURLALTSVC_H2).
    options = {CurlOpt.ALTSVC_CTRL: 16, CurlOpt.ALTSVC: ALTERNATIVES.encode(), CurlOpt.RESOLVE: [resolve]}
    session = Session(impersonate="chrome131", verify=authority, curl_options=options, timeout=10)

    def send(path, body):
        response = session.post(origin + path, data=body.encode())
        return response.status_code, response.text, response.headers

    return send


def by_curl():
    files = ["--cookie", "jar", "--cookie-jar", "jar", "--alt-svc", ALTERNATIVES]
    to = ["--cacert", authority, "--resolve", resolve, "--http2", "--max-time", "10"]

    def send(path, body):
        command = ["curl", "--silent", "--show-error", "--include", *files, *to, "--data", body, origin + path]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # An interim response has a head of its own.
        heads, _, content = answer.replace("\r\n", "\n").rpartition("\n\n")
        status, *fields = heads.split("\n\n")[-1].split("\n")
        fields = (field.partition(": ") for field in fields)
        return int(status.split()[1]), content, {name.lower(): value for name, _, value in fields}

    return send


send = {"curl-cffi": by_curl_cffi, "curl": by_curl}[by]()
before, moving, number = ("-", "-"), False, 0
while True:
    sent, status, (at, announced) = time.time(), 0, before
    body = f"body of {number}"
    try:
        status, content, fields = send(f"/cart/{prefix}-{number}", body)
        if status == 200 and content != body:
            raise ValueError("another request's answer")
        at = fields.get("x-at", "-")
        found = re.search('"(.*?)"', fields.get("alt-svc", ""))
        announced = found.group(1) if found else "-"
    except Exception as error:  # pylint: disable=broad-except
        print(error, getattr(error, "stderr", ""))
    print(f"visit {number} {sent * 1e3} {time.time() * 1e3} {status} {at} {announced} end", flush=True)
    # At once after an announcement; then soon, until it has arrived.
    is_new = before[1] != "-" and announced != before[1]
    moving = (moving or is_new) and at == before[0]
    before = at, announced
    number += 1
    if not is_new:
        time.sleep(0.005 if moving else float(pause) / 1e3)
