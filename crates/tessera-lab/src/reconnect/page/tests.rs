//! The contents of the page, without a browser.

use tessera_link::{LinkKind, LinkParameters};
use tessera_reports::reconnect::SynData;
use tessera_reports::{Machine, Mode, Sample, Sides};

use super::*;
use crate::control::ObservedFacts;
use crate::experiment::link_report;
use crate::verdicts::Attack;
use crate::ways::Way;
use tessera_adversary::DecryptedParts;

fn report(cpu: &str) -> Report {
    let rows = [0.0, 33.0].into_iter().flat_map(|rtt_ms| ways().map(move |way| row(way, rtt_ms)));
    Report {
        experiment: "reconnect",
        seed: 7,
        machine: Machine { cpu: cpu.to_owned(), cores: 2, kernel: "Linux".to_owned() },
        link: link_report(LinkKind::Tun, &LinkParameters::default()),
        rows: rows.collect(),
    }
}

/// Returns all of them, as usual and begun in the SYN.
fn ways() -> impl Iterator<Item = Way> {
    Way::all(&Mode::ALL).into_iter().flat_map(|way| [way, way.in_syn()])
}

fn row(way: Way, rtt_ms: f64) -> Row {
    let Way { mode, kx, ticket_key, continuation, fast_open } = way;
    let sample = |n: u32| {
        let us = Some(f64::from(n) * 100.0);
        Sample {
            tcp_us: us,
            first_byte_us: us,
            handshake_us: us,
            response_us: us,
            client_engine_us: us,
            server_engine_us: us,
            client_cpu_us: us,
            server_cpu_us: us,
            ..Sample::default()
        }
    };
    let nothing = DecryptedParts::default();
    let attack = Attack { executions: 1, after: nothing, undeleted: nothing, before: nothing };
    Row {
        mode,
        kx,
        ticket_key,
        continuation,
        fast_open: fast_open.then_some(SynData { bytes: 5, taken: 7 }),
        rtt_ms,
        samples: (1..=7).map(sample).collect(),
        first_flight: 6,
        bytes: Sides { client: 1, server: 2 },
        heap: Some(Sides { client: 3, server: 4 }),
        verdicts: attack.verdicts(&ObservedFacts::default()),
    }
}

#[test]
fn the_reconnect_page_has_every_row_of_the_report() {
    let report = report("CPU");
    let page = render(&report).unwrap();
    for row in &report.rows {
        let key = table::name(&Way::of_row(row)).key;
        let number = format!("data-row=\"{key}@{}\"", row.rtt_ms);
        assert_eq!(page.matches(&number).count(), 1, "{number}");
        // Latency and engine at both links, bytes and heap once.
        assert_eq!(page.matches(&format!("data-way=\"{key}\"")).count(), 2 * 2 + 2, "{key}");
        assert_eq!(page.matches(&format!("data-verdict=\"{key}\"")).count(), 1, "{key}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("<svg role=\"img\"").count());
    assert_eq!(page.matches("<svg").count(), page.matches("<title>").count() - 1);
}

#[test]
fn nothing_in_a_reconnect_report_becomes_markup() {
    let page = render(&report("</script><script>alert(1)</script>")).unwrap();
    assert!(!page.contains("<script>alert"));
    let json = page.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["machine"]["cpu"], "</script><script>alert(1)</script>");
}

#[test]
fn the_reconnect_page_loads_nothing() {
    let page = render(&report("CPU")).unwrap();
    for reference in ["http:", "https:", "src=", "url(", "@import", "<link", "<iframe"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn a_reconnect_report_without_rows_is_a_page_too() {
    let page = render(&Report { rows: Vec::new(), ..report("CPU") }).unwrap();
    assert!(!page.contains("NaN"));
}

#[test]
fn the_answer_of_the_reconnect_page_is_that_of_the_medians() {
    let mut report = report("CPU");
    for row in &mut report.rows {
        let us = match row.mode {
            Mode::ZeroRttFs => 50_500.0,
            Mode::ZeroRtt => 50_000.0,
            _ => 83_500.0,
        };
        for (sample, n) in row.samples.iter_mut().zip(0_u32..) {
            sample.first_byte_us = Some(us + f64::from(n));
        }
        row.verdicts.replay_executions = if row.mode == Mode::ZeroRtt { 2 } else { 1 };
    }
    let answered = |report: &Report| {
        let page = render(report).unwrap();
        page.split("<p class=\"answer\">").nth(1).unwrap().split("</p>").next().unwrap().to_owned()
    };
    let answer = answered(&report);
    let sentence = "<strong>At 33\u{a0}ms, forward-secret early data is at the server after 50.50\u{a0}ms: 33.0\u{a0}ms sooner than a \
                    resumption with a key exchange, and 0.50\u{a0}ms later than replayable early data.</strong>";
    assert!(answer.starts_with(sentence), "{answer}");
    assert!(answer.contains("executed once, that of replayable early data 2 times."), "{answer}");
    report.rows.retain(|row| row.mode == Mode::Full);
    let without = answered(&report);
    assert!(
        without.contains("At 33\u{a0}ms, full has its request at the server first"),
        "{without}"
    );
}

#[test]
fn unprotected_data_looks_bad_on_the_reconnect_page() {
    let mut report = report("CPU");
    report.rows.truncate(2);
    report.rows[0].verdicts.replay_executions = 2;
    let page = render(&report).unwrap();
    assert_eq!(page.matches("<b class=\"bad\">2×</b>").count(), 1);
    assert_eq!(page.matches("<b class=\"bad\">1×</b>").count(), 0);
    report.rows[0].verdicts.replay_executions = 1;
    // Ways with the same verdicts share a sentence.
    assert_eq!(render(&report).unwrap().matches("class=\"sentence\"").count(), 1);
}
