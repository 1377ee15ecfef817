//! The contents of the page, without a browser.

use tessera_link::{LinkKind, LinkParameters};
use tessera_reports::{Machine, Mode};

use super::*;
use crate::experiment::link_report;
use crate::traffic::{evaluate, samples};

fn report() -> Report {
    let mut flows = Vec::new();
    for padding in [None, Some(512)] {
        for n in 0..8 {
            for (mode, size) in [(Mode::Full, 500), (Mode::PskDhe, 700)] {
                let mut flow = samples::flow(mode, vec![(size + n, 0), (-100 * size, 9)]);
                flow.padding = padding;
                flows.push(flow);
            }
        }
    }
    Report {
        experiment: "traffic".to_owned(),
        seed: 7,
        machine: Machine { cpu: "<b>".to_owned(), cores: 2, kernel: "Linux".to_owned() },
        link: link_report(LinkKind::Tun, &LinkParameters::default()),
        confusion: evaluate::confusion(&flows, 7),
        costs: evaluate::costs(&flows),
        flows,
    }
}

#[test]
fn the_traffic_page_has_every_setting_every_matrix_and_every_cost() {
    let page = render(&report()).unwrap();
    let has = |mark: &str, count| assert_eq!(page.matches(mark).count(), count, "{mark}");
    for setting in ["0/none", "0/512"] {
        has(&format!("data-way=\"{setting}\""), 1);
        has(&format!("data-row=\"{setting}\""), 1);
        for features in Features::ALL {
            for option in ["a", "c"] {
                has(&format!("data-row=\"{setting}/{}/{option}\"", features.name()), 1);
            }
        }
        has(&format!("data-row=\"{setting}/cost/a\""), 1);
    }
    has("100.0 (", 3 * 2);
    // In the caption, and in the label of the element that scrolls.
    has("asked first: record 1 size &gt; 603.5", 2 * 2 * 2);
    has("What the server sends has sizes below 0", 1);
    has("<b>", 0);
    has("NaN", 0);
    // The padded flows are those without padding.
    has(">1.00</td>", 2 * 2);
}

#[test]
fn the_traffic_report_comes_back_from_its_json() {
    let report = report();
    let json = serde_json::to_string(&report).unwrap();
    let back: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(back.flows, report.flows);
    assert_eq!(back.confusion, report.confusion);
    assert_eq!(evaluate::confusion(&back.flows, back.seed), report.confusion);
    assert_eq!(evaluate::costs(&back.flows), report.costs);
}
