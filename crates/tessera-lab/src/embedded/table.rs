//! The report as tables, and the terms in them.

use super::published::{Kind, PUBLISHED};
use super::report::{Chain, End, Image, Report};
use super::targets::TARGETS;
use super::{claims, compared, energy, goals, kem_tables, suite_tables, sweep};
use crate::numbers::count;
use crate::table::{Cell, Name, Row, Table, cells};

/// Returns all tables, each with its name, in the order of the page; `None` if the report has nothing for it.
pub(crate) fn all(report: &Report) -> Vec<(&'static str, Option<Table>)> {
    let tables = [
        ("targets", targets(report)),
        ("sizes", sizes(report)),
        ("crates", crates(report)),
        ("published", published(report)),
        ("handshakes", handshakes(report)),
        ("messages", messages(report)),
        ("chains", chains(report)),
        ("operations", operations(report)),
        ("goals", goals::table(report)),
        ("suites", suite_tables::suites(report)),
        ("times", suite_tables::modelled(report)),
        ("parts", suite_tables::parts(report)),
        ("thesis", compared::table(report)),
        ("claims", claims::table(report)),
        ("links", sweep::table(report, 1500)),
        ("links-256", sweep::table(report, 256)),
        ("kems", kem_tables::kems(report)),
        ("one-time-kems", kem_tables::constructions(report)),
        ("energy", energy::table(report)),
    ];
    tables.into_iter().map(|(name, table)| (name, table.unless_empty())).collect()
}

/// Returns how the images were built and run.
pub(crate) fn method(report: &Report) -> String {
    let small = if report.small {
        ", the standard library too, compact SHA-256, panics without messages, equal functions folded"
    } else {
        ""
    };
    format!(
        "Cortex-M33 (QEMU's mps2-an505), no network stack. Optimization level {}{small}; LTO; {}. Exact counts of \
         instructions, not of cycles; {} connections of each image.",
        report.opt_level,
        report.compiler,
        count(report.connections)
    )
}

fn targets(report: &Report) -> Table {
    let mut table = Table::new(
        "what a client takes, and is to take at most",
        "client | bytes | at most | reached | with the free heap to start",
    )
    .note(
        "In bytes; 1 KB is 1,000. RAM is with records of 2 KB, and what a handshake has at most at once. A connection starts \
         only where more heap is free, for all that a peer may send within the limits: the last column has RAM with that.",
    );
    for target in &TARGETS {
        let Some(image) = report.image(target.kind) else { continue };
        let measured = target.of.measured(image);
        let is_reached = measured <= u64::from(target.most);
        let reached = Cell::from(if is_reached { "yes" } else { "no" }).bad_if(!is_reached);
        let what = format!("{}, {}", image.image, target.of.words());
        let to_start = target.of.to_start(image);
        table.row(what, cells![measured, target.most, reached, to_start]);
    }
    table
}

fn sizes(report: &Report) -> Table {
    let rows = report.images.iter().map(|Image { image, openssl, client, .. }| {
        let sections = &client.sections;
        let cells = cells![
            client.flash,
            sections.text,
            sections.rodata,
            sections.data,
            sections.bss,
            openssl.as_str()
        ];
        Row::new(Name::new(image, image), cells)
    });
    Table::new(
        "sizes of a client alone, by section",
        "image | flash | .text | .rodata | .data | .bss | OpenSSL",
    )
    .note("In bytes. Flash is .text and .rodata; .bss has the arena of the heap.")
    .rows(rows)
}

fn crates(report: &Report) -> Table {
    let images: Vec<_> = report.images.iter().map(|it| &it.client.crates).collect();
    let mut names: Vec<&String> = images.iter().flat_map(|it| it.keys()).collect();
    let most = |name: &String| images.iter().filter_map(|it| it.get(name)).max().copied();
    names.sort_by(|a, b| most(b).cmp(&most(a)).then(a.cmp(b)));
    names.dedup();
    let rows = names.into_iter().map(|name| {
        Row::new(
            Name::new(name, name),
            images.iter().map(|it| it.get(name).copied()).collect::<Vec<_>>(),
        )
    });
    Table::new("flash of a client alone, by crate", "crate")
        .note(
            "In bytes. Code that was inlined counts for the crate of the function that it went into; `other` has no symbol \
             of a crate: string literals, startup, padding.",
        )
        .and(report.images.iter().map(|it| it.image.clone()))
        .rows(rows)
}

fn published(report: &Report) -> Table {
    let ours =
        Kind::published().map(|kind| report.image(kind).map(|it| Cell::from(it.client.flash)));
    let stack = report.image(Kind::MlDsa).map(|it| Cell::from(it.client.end.stack));
    let mut table = Table::new("flash of other makers' clients, as they publish it", "client | setting")
        .note(
            "Ours is measured, in bytes. The others' figures are their makers', not measured here, and their conditions differ.",
        )
        .and(Kind::published().map(Kind::words))
        .and(["stack"]);
    let setting = Cell::from("measured here");
    let cells = [setting].into_iter().chain(ours.chain([stack]).map(Cell::from));
    table.row("Tessera", cells);
    for published in &PUBLISHED {
        let of = |kind| {
            let found = published.flash.iter().find(|(it, ..)| *it == kind);
            Cell::from(found.map(|(.., words)| *words))
        };
        let setting = format!("published by others: {}", published.setting).into();
        let cells =
            [setting].into_iter().chain(Kind::published().map(of)).chain([published.stack.into()]);
        table.row(published.name, cells);
    }
    table
}

fn handshakes(report: &Report) -> Table {
    let rows = each_end(report).map(|(name, end)| {
        let cells = cells![
            end.stack,
            end.heap,
            end.buffers,
            end.ram(),
            end.needed,
            end.kept,
            end.allocations,
            end.instructions,
            end.sent,
        ];
        Row::new(name, cells)
    });
    Table::new(
        "a handshake, by end",
        "image | end || stack | heap | buffers | RAM in all | free heap to start | heap at rest | allocations | instructions | sent",
    )
    .note(
        "The most at once, in bytes; RAM in all is stack, heap and buffers, and the heap includes what is in use at rest. A \
         connection starts only where so much heap is free that nothing fails later, whatever the peer sends within the limits.",
    )
    .rows(rows)
}

fn messages(report: &Report) -> Table {
    let rows = each_end(report).flat_map(|(name, end)| {
        end.messages.iter().map(move |it| {
            let key = format!("{}/{}", name.key, it.message);
            let name = Name { key, ..name.clone() }.with("", it.message.clone());
            Row::new(name, cells![it.stack, it.heap, it.instructions])
        })
    });
    Table::new("a handshake, by message", "image | end | message || stack | heap | instructions")
        .note(
            "The most stack and heap, in bytes, and the instructions, of a message that an end reads or writes: without records, \
             whose protection is what is missing up to the whole.",
        )
        .rows(rows)
}

fn chains(report: &Report) -> Table {
    let chains =
        report.images.iter().flat_map(|image| image.chains.iter().map(move |it| (image, it)));
    let rows = chains.flat_map(|(Image { image, .. }, chain)| {
        let Chain { keys, certificates, full, cached } = chain;
        [("whole", full), ("as a hash", cached)].into_iter().flat_map(move |(way, ends)| {
            [("client", &ends.client), ("server", &ends.server)].map(|(end, of)| {
                let name = Name::new(format!("{image}/{keys}/{certificates}/{way}/{end}"), keys)
                    .with("certificates", certificates.to_string())
                    .with("sent", way)
                    .with("", end);
                Row::new(name, cells![of.stack, of.heap, of.instructions, of.sent])
            })
        })
    });
    Table::new(
        "a handshake, by the server's chain",
        "keys | certificates | sent | end || stack | heap | instructions | bytes sent",
    )
    .note(
        "Whole, and as a hash once the client has accepted it. The most stack and heap, in bytes.",
    )
    .rows(rows)
}

fn operations(report: &Report) -> Table {
    let rows = report.operations.iter().map(|it| {
        let name = Name::new(&it.operation, &it.operation);
        Row::new(name, cells![it.instructions, it.stack])
    });
    Table::new("operations alone", "operation | instructions | stack")
        .note("Of the provider for devices, in a program of its own; the stack in bytes. What the compiler inlines differs there: an \
             operation may reach deeper than the handshake that has it.")
        .rows(rows)
}

/// Returns both ends of each image, with their names.
fn each_end(report: &Report) -> impl Iterator<Item = (Name, &End)> {
    report.images.iter().flat_map(|Image { image, client, server, full, .. }| {
        let full =
            full.iter().map(move |it| (format!("{image}, at first"), &it.client, &it.server));
        full.chain([(image.clone(), &client.end, server)]).flat_map(|(name, client, server)| {
            [("client", client), ("server", server)]
                .map(|(end, of)| (Name::new(format!("{name}/{end}"), &name).with("", end), of))
        })
    })
}

/// The terms in the tables.
pub(crate) const LEGEND: &str = "
psk           external PSK, psk_dhe_ke, X25519
p256          a chain of two certificates, ECDSA with P-256; X25519
hybrid        the same with X25519MLKEM768
ml-dsa        a chain of ML-DSA-44; X25519MLKEM768; signatures of ECDSA with P-256 could be verified too
kem-pinned    the client knows the server's key of ML-KEM-768, and encapsulates to it; ML-KEM-768; no code for certificates
kem-raw-key   the same, and a server may send its key (RFC 7250), as at first
kem-x509      a chain of two certificates, ECDSA with P-256, the server's with a key of ML-KEM-768; ML-KEM-768
kem-x509-ml-dsa  the same below authorities with ML-DSA-44
cached        as p256, and the chain is sent as a hash, since the client knows it; at first it doesn't
psk-datagram  as psk, over datagrams (DTLS 1.3)
cached-rsa    the same with RSA-2048
CA, leaf      the keys of the authorities, and of the server's certificate
server        the server has a chain, and the client nothing; mutual: both have one
cached chain  the client knows the chain, and its hash is sent
raw key       the server sends its key, which the client knows, in place of a chain (RFC 7250)
chain         the signatures of certificates that a client verifies; proof: the server's own, or what is encapsulated to its key
stack         the most below a call of the engine
heap          the most in use during a connection; at rest: before it and after it, the configuration and caches
buffers       the caller's, which hold records of 2 KB
instructions  those that the processor retires, counted by the emulator; they repeat in one directory, and are not cycles
first data    when a client may send application data
explicit      when it has authenticated the server by a Finished or a signature; with KEM authentication that is a round trip later
one-time      ML-KEM whose key decapsulates once, without re-encryption (T_H): experimental
known key     a client that knows the server's key of ML-KEM, and sends an encapsulation in its ClientHello
modelled      by instructions at 125 million a second, a server that computes in no time, and a link without losses
OpenSSL       whether the client alone connects to `openssl s_server`";
