//! The paper's numbers next to ours.

use tessera_observed::Operation;
use tessera_reports::KeyExchange::{self, X25519, X25519MlKem768};

use super::input::{Inputs, Library};
use super::operations::{
    BORING_CLIENT, BORING_SERVER, CERTIFICATES, KEY_EXCHANGE, boring_chain, boring_proof,
    boring_signature, median,
};
use crate::certificates::Certificates::{self, P256, Rsa2048};
use crate::edge::EdgeWay::{self, Full, Resumed};
use crate::edge::report::EndOperations;
use crate::numbers::{count, fixed};
use crate::table::{Table, cells};

/// The table.
pub(super) fn answers(inputs: &Inputs) -> Option<Table> {
    // The gap of a handover isn't in the paper.
    if inputs.edge.is_none() && inputs.boring.is_none() && inputs.envoy.is_none() {
        return None;
    }
    let mut table = Table::with_note(
        "Each number of the paper next to ours; RSA-2048, a chain of two. BoringSSL is Go as a client of Envoy for \
         bytes, and the crate `boring` for operations. ClientHellos are messages; flights are records. In brackets: \
         with the records of new tickets.",
        "number | the paper | BoringSSL | Tessera",
    );
    for row in bytes(inputs).into_iter().chain(shares(inputs)).chain(work(inputs)) {
        let Answer { what, paper, boring, tessera } = row;
        table.row(what, cells![paper, boring, tessera]);
    }
    Some(table)
}

struct Answer {
    what: &'static str,
    paper: &'static str,
    boring: Option<String>,
    tessera: Option<String>,
}

/// The bytes of one stack's connection.
#[derive(Clone, Copy)]
pub(super) struct Flights {
    pub(super) hello: u64,
    pub(super) flight: u64,
    pub(super) tickets: u64,
}

impl Flights {
    fn sum(self) -> f64 {
        (self.hello + self.flight) as f64
    }

    fn with_tickets(self) -> f64 {
        self.sum() + self.tickets as f64
    }
}

/// Returns those of Go with Envoy, and of Tessera.
pub(super) fn flights(
    inputs: &Inputs,
    way: EdgeWay,
    kx: KeyExchange,
    certificates: Certificates,
) -> [Option<Flights>; 2] {
    let envoy = inputs.envoy(way, kx, certificates);
    let envoy = envoy.map(|it| Flights { hello: it.hello, flight: it.server, tickets: it.tickets });
    let ours = inputs.cell(way, kx, certificates).and_then(|cell| cell.samples.last());
    let ours = ours.map(|sample| Flights {
        hello: sample.hello,
        flight: sample.of.server.handshake,
        tickets: sample.tickets(),
    });
    [envoy, ours]
}

/// The header of a record.
pub(super) const HEADER: u64 = 5;

fn bytes(inputs: &Inputs) -> Vec<Answer> {
    let of = |way, kx| flights(inputs, way, kx, Rsa2048);
    let each = |way, kx, value: fn(Flights) -> String| of(way, kx).map(|it| it.map(value));
    let hello = |it: Flights| format!("{} B", count(it.hello - HEADER));
    let row = |what, paper, [boring, tessera]: [Option<String>; 2]| Answer {
        what,
        paper,
        boring,
        tessera,
    };
    let growth = |index: usize| {
        let [full, resumed] = [Full, Resumed].map(|way| of(way, X25519)[index]);
        full.zip(resumed).map(|(full, resumed)| format!("{} B", resumed.hello - full.hello))
    };
    let total =
        |it: Flights| format!("{} B ({} B)", fixed(it.sum(), 0), fixed(it.with_tickets(), 0));
    vec![
        row("ClientHello, X25519", "about 240 B", each(Full, X25519, hello)),
        row("ClientHello, X25519MLKEM768", "over 1.4 kB", each(Full, X25519MlKem768, hello)),
        row(
            "the proxy's flight, X25519",
            "a 2 kB certificate",
            each(Full, X25519, |it| format!("{} B", count(it.flight))),
        ),
        row("a ticket adds to the ClientHello", "250 B", [0, 1].map(growth)),
        row("resumed, X25519: both flights", "700 B", each(Resumed, X25519, total)),
        row("resumed, X25519MLKEM768: both flights", "3 kB", each(Resumed, X25519MlKem768, total)),
    ]
}

fn shares(inputs: &Inputs) -> Vec<Answer> {
    let share = |kx| {
        let [full, resumed] = [Full, Resumed].map(|way| flights(inputs, way, kx, Rsa2048));
        let of = |index: usize| {
            full[index].zip(resumed[index]).map(|(full, resumed)| {
                let percent = |share: f64| format!("{} %", fixed(share * 100.0, 1));
                let with = resumed.with_tickets() / full.with_tickets();
                format!("{} ({})", percent(resumed.sum() / full.sum()), percent(with))
            })
        };
        [of(0), of(1)]
    };
    let row = |what, paper, kx| {
        let [boring, tessera] = share(kx);
        Answer { what, paper, boring, tessera }
    };
    vec![
        row("of the full handshake, X25519", "27 %", X25519),
        row("of the full handshake, X25519MLKEM768", "62 %", X25519MlKem768),
    ]
}

fn work(inputs: &Inputs) -> Vec<Answer> {
    let times = |ratio: Option<f64>| ratio.map(|ratio| format!("{}×", fixed(ratio, 2)));
    let ratio = |a: Option<f64>, b: Option<f64>| times(Some(a? / b?));
    let boring = |operations: &[&str]| median(&inputs.library(Library::Boring, operations)?);
    let end = |way, kx, keys, is_client: bool, of: &[Operation]| {
        let row = inputs.operations(way, kx, keys)?;
        let end: &EndOperations = if is_client { &row.client } else { &row.server };
        median(&end.sums(of))
    };
    let exchange = |way, kx, is_client| end(way, kx, Rsa2048, is_client, &KEY_EXCHANGE);
    let validation = |kx| end(Full, kx, Rsa2048, true, &CERTIFICATES);
    let signature = |keys| end(Full, X25519, keys, false, &[Operation::Signature]);
    let validated = boring(&[&boring_chain(Rsa2048), &boring_proof(Rsa2048)]);
    let over = |what, index: usize, kx| Answer {
        what,
        paper: "dominates",
        boring: ratio(validated, boring(BORING_CLIENT[index])),
        tessera: ratio(validation(kx), exchange(Full, kx, true)),
    };
    let us = |value: Option<f64>| value.map(|us| format!("{} µs", fixed(us, 0)));
    let signed = |what, keys| Answer {
        what,
        paper: "not there",
        boring: us(boring(&[&boring_signature(keys)])),
        tessera: us(signature(keys)),
    };
    vec![
        Answer {
            what: "the client's key exchange: X25519MLKEM768 over X25519",
            paper: "about 2×",
            boring: ratio(boring(BORING_CLIENT[1]), boring(BORING_CLIENT[0])),
            tessera: ratio(exchange(Full, X25519MlKem768, true), exchange(Full, X25519, true)),
        },
        Answer {
            what: "the proxy's key exchange: X25519MLKEM768 over X25519",
            paper: "about 2×",
            boring: ratio(boring(BORING_SERVER[1]), boring(BORING_SERVER[0])),
            tessera: ratio(exchange(Full, X25519MlKem768, false), exchange(Full, X25519, false)),
        },
        over("certificate validation over key exchange, X25519", 0, X25519),
        over("certificate validation over key exchange, X25519MLKEM768", 1, X25519MlKem768),
        Answer {
            what: "the client's key exchange: resumed over full, X25519",
            paper: "similar",
            boring: None,
            tessera: ratio(exchange(Resumed, X25519, true), exchange(Full, X25519, true)),
        },
        Answer {
            what: "certificate validation: X25519MLKEM768 over X25519",
            paper: "unaffected",
            boring: None,
            tessera: ratio(validation(X25519MlKem768), validation(X25519)),
        },
        signed("the proxy's signature, RSA-2048", Rsa2048),
        signed("the proxy's signature, ECDSA P-256", P256),
    ]
}
