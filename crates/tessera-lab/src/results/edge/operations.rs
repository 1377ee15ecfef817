//! Operations of both ends, and of libraries.

use tessera_observed::Operation;
use tessera_reports::KeyExchange;

use super::input::{Inputs, Library};
use crate::certificates::Certificates;
use crate::edge::EdgeWay;
use crate::edge::report::EndOperations;
use crate::edge::table;
use crate::statistics::Median;
use crate::table::{Table, cells};

/// The key exchange of either end.
pub(super) const KEY_EXCHANGE: [Operation; 3] =
    [Operation::KeyGeneration, Operation::Encapsulation, Operation::Decapsulation];

/// The validation of certificates.
pub(super) const CERTIFICATES: [Operation; 2] =
    [Operation::Verification, Operation::ProofVerification];

/// The operations of BoringSSL that make up a client's key exchange: with X25519, and hybrid.
pub(super) const BORING_CLIENT: [&[&str]; 2] = [
    &["x25519 key generation", "x25519 shared secret"],
    &["hybrid key generation", "hybrid decapsulation"],
];

/// The same of a server.
pub(super) const BORING_SERVER: [&[&str]; 2] =
    [&["x25519 key generation and shared secret"], &["hybrid encapsulation"]];

pub(super) fn boring_chain(keys: Certificates) -> String {
    format!("{keys} chain")
}

pub(super) fn boring_proof(keys: Certificates) -> String {
    format!("{keys} CertificateVerify")
}

pub(super) fn boring_signature(keys: Certificates) -> String {
    format!("{keys} signature")
}

/// Returns the median of some samples.
pub(super) fn median(us: &[f64]) -> Option<f64> {
    Some(Median::of(us.iter().copied())?.value)
}

/// The operations of a connection.
pub(super) fn operations(inputs: &Inputs) -> Option<Table> {
    let report = inputs.edge.as_ref()?;
    let mut table = Table::with_note(
        "Operations of a connection in Tessera, in memory, in µs: medians of the repetitions' means, and how far they may \
         be off (95 %). \"Chain\" is the rest of the verification without CertificateVerify; \"engine\" all calls of the \
         engine, operations included; \"sum\" the columns but HKDF and HMAC.",
        "way, group, keys, end | sum | engine",
    )
    .and(table::COLUMNS.map(|(name, _)| name));
    for row in report.operations.iter().flat_map(table::rows) {
        table.row(row.names[0].words(), row.cells);
    }
    table.unless_empty()
}

/// The sums by configuration.
pub(super) fn sums(inputs: &Inputs) -> Option<Table> {
    let report = inputs.edge.as_ref()?;
    let mut table = Table::with_note(
        "The paper's four configurations in Tessera, in µs: sums of operations, as in its Fig. 2, and the signature that \
         it lacks.",
        "keys, way, group | client: key exchange | client: certificates | proxy: key exchange | proxy: signature | \
         proxy: tickets",
    );
    let rows = report.operations.iter();
    let of_paper = [EdgeWay::Full, EdgeWay::Resumed];
    for row in rows.filter(|row| of_paper.contains(&row.name.way)) {
        let sum = |end: &EndOperations, of: &[Operation]| {
            let is_there = of.iter().any(|operation| end.of(*operation).is_some());
            Median::of(end.sums(of)).filter(|_| is_there)
        };
        let name = row.name;
        table.row(
            format!("{}, {}, {}", name.certificates, name.way, name.kx.registered_name()),
            cells![
                sum(&row.client, &KEY_EXCHANGE),
                sum(&row.client, &CERTIFICATES),
                sum(&row.server, &KEY_EXCHANGE),
                sum(&row.server, &[Operation::Signature]),
                sum(&row.server, &[Operation::TicketSealing, Operation::TicketOpening]),
            ],
        );
    }
    table.unless_empty()
}

/// Both libraries' operations.
pub(super) fn boring(inputs: &Inputs) -> Option<Table> {
    let report = inputs.boring.as_ref()?;
    let mut table = Table::with_note(
        "Operations called alone, BoringSSL and Tessera's provider in turns, in µs: medians of the repetitions' means, and \
         how far they may be off (95 %). Chains of two are read from DER. The hybrid key generation makes both shares. \
         BoringSSL's tickets are Envoy's (AES-256-CBC and HMAC-SHA256), Tessera's an AEAD.",
        "operation | boring | Tessera",
    );
    let mut names: Vec<&str> = Vec::new();
    for it in &report.operations {
        if !names.contains(&it.operation.as_str()) {
            names.push(&it.operation);
        }
    }
    for name in names {
        let of = |library| Median::of(inputs.library(library, &[name])?);
        table.row(name, cells![of(Library::Boring), of(Library::Tessera)]);
    }
    for (index, kx) in KeyExchange::ALL.into_iter().enumerate() {
        for (end, parts) in [("client", BORING_CLIENT[index]), ("server", BORING_SERVER[index])] {
            let of = |library| Median::of(inputs.library(library, parts)?);
            let name = format!("sum: the key exchange of a {end}, {}", kx.registered_name());
            table.row(name, cells![of(Library::Boring), of(Library::Tessera)]);
        }
    }
    table.unless_empty()
}
