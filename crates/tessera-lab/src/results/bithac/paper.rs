//! The numbers in the paper (Bodenhausen, Mangel, Vogt, Henze, "Bidirectional TLS Handshake Caching for Constrained
//! Industrial IoT Scenarios"), next to those of TLS 1.2 and of TLS 1.3 here.

use super::input::{Inputs, PaperComparison};
use super::targets::{median, ratio};
use crate::bithac::report::End;
use crate::bithac::{CertificateWay, Certificates};
use crate::numbers::{NOTHING, fixed};
use crate::table::{Table, cells};
use crate::wired::Sample;

/// The numbers, by which rows are in order.
const NUMBERS: [&str; 11] = ["B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11"];

const MTUS: [u16; 3] = [1500, 576, 127];

/// The table.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "The paper's numbers next to those of TLS 1.2 (tls12.json; its rows are as it wrote them) and of TLS 1.3 \
         (bithac.json). Ranges are over MTUs of 1500, 576 and 127 bytes. Where the paper has no number, nothing stands \
         there.",
        "number | the paper | here | in",
    );
    let of_tls12 = inputs.tls12.iter().flat_map(|report| &report.paper);
    let rows: Vec<_> = of_tls12
        .map(|it| (it.clone(), "TLS 1.2"))
        .chain(of_tls13(inputs).into_iter().map(|it| (it, "TLS 1.3")))
        .collect();
    for number in NUMBERS {
        for (PaperComparison { what, paper, here, .. }, of) in
            rows.iter().filter(|(it, _)| it.id == number)
        {
            let or_nothing = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            let cells = cells![or_nothing(paper), or_nothing(here), *of];
            table.row(format!("{number}: {what}"), cells);
        }
    }
    table.unless_empty()
}

/// The rows with a number of the paper.
pub(super) fn answers(inputs: &Inputs) -> Option<Table> {
    let all = table(inputs)?;
    let rows = all.rows.into_iter().filter(|row| row.cells[0].text() != NOTHING).collect();
    let note = "Each number of the paper next to ours, of TLS 1.2 (tls12.json) and of TLS 1.3 (bithac.json). Ranges are \
                over MTUs of 1500, 576 and 127 bytes.";
    Table { note: note.to_owned(), rows, ..all }.unless_empty()
}

fn of_tls13(inputs: &Inputs) -> Vec<PaperComparison> {
    use CertificateWay::{Cached, Full, Paper, PskDhe, Rfc7924};
    use Certificates::{P256, Rsa2048, Rsa4096};
    if inputs.bithac.is_none() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let mut row = |id: &str, what: String, paper: &str, here: Option<String>| {
        let (id, paper, here) = (id.to_owned(), paper.to_owned(), here.unwrap_or_default());
        rows.push(PaperComparison { id, what, paper, here });
    };
    let ip = |way, certificates, mtu| Some(inputs.bytes(way, certificates, mtu)?.ip_bytes() as f64);
    let tls =
        |way, certificates| Some(inputs.bytes(way, certificates, 1500)?.handshake_bytes() as f64);
    let over_mtus = |of: &dyn Fn(u16) -> Option<f64>| {
        let values = MTUS.map(of).into_iter().collect::<Option<Vec<_>>>()?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some((least, values.into_iter().fold(f64::NEG_INFINITY, f64::max)))
    };
    let saved = |way, certificates| {
        let of = |mtu| {
            Some(100.0 * (ratio(ip(way, certificates, mtu), ip(Full, certificates, mtu))? - 1.0))
        };
        over_mtus(&of).map(|(most, least)| format!("{least:.2}..{most:.2} %"))
    };
    let full = over_mtus(&|mtu| ip(Full, Rsa2048, mtu));
    let full = full.map(|(least, most)| format!("{}..{} B", fixed(least, 0), fixed(most, 0)));
    row("B1", format!("full, {Rsa2048}, IP+TCP+TLS"), "", full);
    for certificates in Certificates::ALL {
        let here = saved(Rfc7924, certificates);
        row("B2", format!("rfc7924, {certificates}, IP+TCP+TLS"), "", here);
        row("B3", format!("paper, {certificates}, IP+TCP+TLS"), "", saved(Paper, certificates));
        row("B3", format!("cached, {certificates}, IP+TCP+TLS"), "", saved(Cached, certificates));
    }
    row("B4", format!("psk_dhe_ke with a new ticket, {Rsa2048}"), "", saved(PskDhe, Rsa2048));
    let both = ratio(tls(Cached, Rsa4096), tls(Full, Rsa4096));
    let here = both.map(|share| format!("{:.1} %", 100.0 * (share - 1.0)));
    row("B6", format!("{Rsa4096} at both ends: TLS"), "", here);
    let at_1500 = |way| ratio(ip(way, Rsa2048, 1500), ip(Full, Rsa2048, 1500));
    let percent = |share: f64| format!("{:.2} %", 100.0 * (share - 1.0));
    row(
        "B7",
        format!("cached, {Rsa2048}, MTU 1500"),
        "-54.89 %, more than 3.3 kB",
        at_1500(Cached).map(percent),
    );
    let further = ip(Cached, Rsa2048, 1500).zip(ip(PskDhe, Rsa2048, 1500));
    let further = further.map(|(cached, resumed)| {
        let saved = fixed(cached - resumed, 0);
        format!("{:.2} %, {saved} B", 100.0 * (1.0 - resumed / cached))
    });
    row("B7", "what a ticket saves beyond that".to_owned(), "16.58 %, 452 B", further);
    for (certificates, paper) in [
        (Rsa2048, "-3.3..-4.9 % of the duration, 15..23 ms (Pi Zero W, all lengths)"),
        (P256, "-5.5..-8.6 % of the duration, 21..32 ms (Pi Zero W, all lengths)"),
    ] {
        let at = |end, chain| {
            let us = |way| median(inputs.work(way, certificates, chain)?.us(end));
            let (full, cached) = (us(Full)?, us(Cached)?);
            let checks = |way| Some(inputs.work(way, certificates, chain)?.checks(end));
            let skipped = checks(Full)?.saturating_sub(checks(Cached)?);
            Some(format!(
                "{:.1} %, {} µs, {skipped} {} skipped",
                100.0 * (cached / full - 1.0),
                fixed(full - cached, 0),
                if skipped == 1 { "check" } else { "checks" },
            ))
        };
        for chain in 1..=4 {
            let what = format!("the client's processor time, {certificates}, chain of {chain}");
            row("B8", what, if chain == 1 { paper } else { "" }, at(End::Client, chain));
        }
        for chain in 1..=4 {
            let what = format!("the server's processor time, {certificates}, chain of {chain}");
            row("B8", what, "", at(End::Server, chain));
        }
    }
    for (certificates, paper) in [(Rsa2048, "420 B"), (P256, "241 B")] {
        for way in [CertificateWay::Known, Cached] {
            let is_this = |it: &&crate::bithac::report::Memory| {
                (it.way, it.certificates, it.end) == (way, certificates, End::Client)
            };
            let each = inputs.memory().find(is_this).and_then(|it| it.per_entry());
            let what = format!("an entry of a client, {certificates}, chains of 3, {way}");
            row(
                "B9",
                what,
                if way == Cached { paper } else { "" },
                each.map(|each| format!("{} B", fixed(each, 0))),
            );
        }
    }
    for (certificates, paper) in [(Rsa2048, "+3.44 % first, +1.22 % later"), (P256, "")] {
        let peak = |way| Some(inputs.peak(way, certificates)?.client as f64);
        let more = |way| Some(100.0 * (ratio(peak(way), peak(Full))? - 1.0));
        let both = more(CertificateWay::CachedFirst).zip(more(Cached));
        let here = both.map(|(first, later)| format!("{first:+.2} % first, {later:+.2} % later"));
        let what = format!("peak of memory, the client, {certificates}, chains of 3");
        row("B10", what, paper, here);
    }
    let share =
        inputs.bytes(Full, Rsa2048, 1500).and_then(|sample| certificates_share(inputs, sample));
    let here = share.map(|share| format!("{:.1} % of the handshake", 100.0 * share));
    row(
        "B11",
        format!("both Certificates, {Rsa2048}, chains of two"),
        "57.9 % (self-signed)",
        here,
    );
    rows
}

/// Returns how much of a full handshake the certificates' bytes as DER are.
fn certificates_share(inputs: &Inputs, full: &Sample) -> Option<f64> {
    let chains = &inputs.bithac.as_ref()?.chains;
    let chains = chains.iter().find(|it| it.certificates == Certificates::Rsa2048)?;
    let bytes: usize = chains.client.iter().chain(&chains.server).sum();
    Some(bytes as f64 / full.handshake_bytes() as f64)
}
