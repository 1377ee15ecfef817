"""The paper's figures next to ours (Bodenhausen, Mangel, Vogt, Henze).

Its text states that BiTHaC reduces usage "to between 43.25% and 38.86%" of vanilla, which is by 56.75 to 61.14 %; and
that the hellos of a second handshake grow by 111 B, where the fields that it describes make 107. wolfSSL writes each
message by itself unless it is asked to gather. Where we do so too, headers of IP and TCP are a larger part of all, and
our shares come close to the paper's.
"""


def comparison(found: list) -> list:
    """[{id, what, paper, here}]; what was not measured has no row."""
    by = {(one["stack"], one["row"], one["keys"], one["mtu"]): one for one in found}
    mtus = sorted({one["mtu"] for one in found}, reverse=True)
    rows = []

    def add(name, what, paper, here):
        if here is not None:
            rows.append({"id": name, "what": what, "paper": paper, "here": here})

    def sizes(stack, row, keys, layer):
        cells = [by.get((stack, row, keys, mtu)) for mtu in mtus]
        return [_mean(one[layer]) for one in cells] if mtus and all(cells) else None

    def saved(stack, row, full, keys="rsa2048"):
        ours, base = sizes(stack, row, keys, "ip_tcp"), sizes(stack, full, keys, "ip_tcp")
        return _percents([100 * (a / b - 1) for a, b in zip(ours, base)]) if ours and base else None

    for stack, note in (("tls12", ""), ("tls12, each", ", a write a message")):
        vanilla = sizes(stack, "vanilla", "rsa2048", "ip_tcp")
        here = vanilla and f"{vanilla[0]:.0f}..{vanilla[-1]:.0f} B"
        add("B1", f"vanilla, rsa2048, IP+TCP+TLS{note}", "6..11 kB", here)
    for keys, rfc7924, bithac in (("rsa2048", "-27.58..-31.67 %", "-56.75..-61.14 %"), ("p256", "", "")):
        for stack, note in (("tls12", ""), ("tls12, each", ", a write a message")):
            add("B2", f"RFC 7924, {keys}{note}", rfc7924, saved(stack, "rfc7924", "vanilla", keys))
            add("B3", f"BiTHaC, {keys}{note}", bithac, saved(stack, "bithac", "vanilla", keys))
            add("B3", f"BiTHaC, bound, {keys}{note}", "", saved(stack, "bithac-bound", "vanilla", keys))
    for stack, full, row in (
        ("tls12", "vanilla", "session-id"),
        ("tls12, each", "vanilla", "session-id"),
        ("openssl", "full", "session-id"),
        ("openssl", "full", "tickets"),
        ("wolfssl", "full", "session-id"),
    ):
        paper = "up to -80 %" if row == "session-id" else ""
        add("B4", f"session resumed, rsa2048: {stack}, {row}", paper, saved(stack, row, full))
    for one in _table_of_bytes(by, mtus):
        add("B5", *one)
    four = [sizes("tls12", row, "rsa4096", "tls") for row in ("vanilla", "bithac")]
    if all(four):
        before, after = (one[0] for one in four)
        here = f"{before:.0f} -> {after:.0f} B, {100 * (after / before - 1):+.1f} %"
        add("B6", "RSA-4096 server, RSA-2048 client: TLS", "5667 -> 1494 B, -73.6 %", here)
    alone = by.get(("tls12", "vanilla", "rsa2048, self-signed", mtus[0] if mtus else 0))
    if alone:
        both = sum(alone["messages"][f"{end} Certificate"][0] for end in ("client", "server"))
        add(
            "B11",
            "both Certificates' share of the handshake",
            "61.5 %",
            f"{100 * both / _mean(alone['handshake']):.1f} %",
        )
    return rows


def _table_of_bytes(by: dict, mtus: list) -> list:
    vanilla, cached = (by.get(("tls12", row, "rsa2048", mtus[0])) for row in ("vanilla", "bithac"))
    if not vanilla or not cached:
        return []

    def size(one, name):
        return one["messages"][name][0]

    def hellos(messages):
        least = {name: value[0] if isinstance(value, list) else value for name, value in messages.items()}
        return least["client ClientHello"] + least["server ServerHello"]

    plain = hellos(vanilla["messages"])
    request = f"{size(vanilla, 'server CertificateRequest')} -> {size(cached, 'server CertificateRequest')} B"
    return [
        ("server Certificate, cached", "42 B", f"{size(cached, 'server Certificate')} B"),
        ("CertificateRequest", "45 -> 42 B", request),
        ("client Certificate, cached", "9 B", f"{size(cached, 'client Certificate')} B"),
        ("hellos of a first handshake", "+8 B", f"{hellos(cached['first']['messages']) - plain:+} B"),
        ("hellos of a second handshake", "+111 B (107 as described)", f"{hellos(cached['messages']) - plain:+} B"),
    ]


def _percents(values: list) -> str:
    return f"{max(values):+.2f}..{min(values):+.2f} %"


def _mean(values: list) -> float:
    return sum(values) / len(values)
