//! The contents of the page, without a browser.

use tessera_link::{LinkKind, LinkParameters};
use tessera_reports::Machine;

use super::*;
use crate::experiment::link_report;
use crate::sites::report::between_sites;

const PATHS: [Path; 5] =
    [Path::Home, Path::Away, Path::AwayHomeSilent, Path::AwayPskDhe, Path::AwayGuess];

fn report(site_rtts: &[f64]) -> Report {
    let mut rows = Vec::new();
    for rtt_ms in [0.0, 33.0] {
        for site_rtt_ms in site_rtts {
            rows.extend(PATHS.map(|path| row(path, rtt_ms, *site_rtt_ms)));
        }
    }
    Report {
        experiment: "sites",
        seed: 7,
        machine: Machine { cpu: "CPU".to_owned(), cores: 2, kernel: "Linux".to_owned() },
        link: link_report(LinkKind::Tun, &LinkParameters::default()),
        between_sites: between_sites(LinkKind::Tun),
        rows,
    }
}

fn row(path: Path, rtt_ms: f64, site_rtt_ms: f64) -> Row {
    let home_answers = path != Path::AwayHomeSilent;
    let sample = |n: u32| {
        let asked = if path == Path::Away { site_rtt_ms * 1e3 } else { 0.0 };
        let us = f64::from(n) + 2e3 + asked;
        Sample {
            tcp_us: us,
            first_byte_us: home_answers.then_some(us),
            verdict_us: path.told().map(|_| us),
            handshake_us: us,
            response_us: home_answers.then_some(us),
        }
    };
    Row {
        path,
        mode: path.way().mode,
        told: path.told(),
        rtt_ms,
        site_rtt_ms,
        patience_ms: 3.0 * site_rtt_ms,
        samples: (1..=7).map(sample).collect(),
        replay_executions: if path == Path::AwayGuess { 2 } else { 1 },
    }
}

#[test]
fn the_sites_page_has_every_row_of_the_report() {
    let report = report(&[5.0, 80.0]);
    let page = render(&report).unwrap();
    for row in &report.rows {
        for mark in ["data-row", "data-way"] {
            let mark = format!("{mark}=\"{}\"", table::name(row).key);
            assert_eq!(page.matches(&mark).count(), 1, "{mark}");
        }
    }
    for path in PATHS {
        let mark = format!("data-verdict=\"{}\"", path.name());
        assert_eq!(page.matches(&mark).count(), 1, "{mark}");
    }
    // A strip a row, and a chart for each link.
    assert_eq!(page.matches("<svg role=\"img\"").count(), report.rows.len() + 2);
    assert_eq!(page.matches("<svg").count(), page.matches("<title>").count() - 1);
    assert!(page.contains("executed 2 times"), "the path that is wrong");
    assert!(page.contains(report.between_sites));
}

#[test]
fn an_event_that_never_happened_has_no_number_on_the_sites_page() {
    let page = render(&report(&[5.0])).unwrap();
    let silent = page.split("data-row=\"away-home-silent@33/5\"").nth(1).unwrap();
    let silent = silent.split("</tr>").next().unwrap();
    // First byte and response.
    assert_eq!(silent.matches(">–</td>").count(), 2, "{silent}");
    assert!(page.contains("away-home-silent, 5 ms between the sites: first byte none"));
    assert!(!page.contains("NaN"));
}

#[test]
fn the_answer_of_the_sites_page_is_that_of_the_medians() {
    let page = render(&report(&[80.0, 5.0])).unwrap();
    let answer = page.split("data-answer=\"33\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(answer.contains("5.0 ms later, with 5 ms between the sites; and 80.0 ms"), "{answer}");
}

#[test]
fn the_sites_page_has_no_chart_of_one_distance() {
    let report = report(&[5.0]);
    let page = render(&report).unwrap();
    assert_eq!(page.matches("<svg").count(), report.rows.len());
    assert!(page.contains("data-row=\"distance@33/5\""));
}

#[test]
fn a_sites_report_without_rows_is_a_page_too() {
    let page = render(&Report { rows: Vec::new(), ..report(&[]) }).unwrap();
    assert!(!page.contains("NaN") && page.contains("id=\"report\""));
}
