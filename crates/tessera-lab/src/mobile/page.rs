//! The page of the experiment `dtls`.

use super::arm::Arm;
use super::client::Detection;
use super::report::{Cell, CellName, Part, Recovery, Report, Through};
use super::table::{self, LEGEND};
use crate::numbers::{count, fixed, percent};
use crate::page::document::{Page, Section, answer, description_list};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::table::html;

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let tables = Part::ALL.iter().flat_map(|part| Through::ALL.map(|through| (*part, through)));
    let sections = tables.filter_map(|(part, through)| {
        let is_it = |cell: &&Cell| (cell.name.part, cell.name.through) == (part, through);
        let cells: Vec<_> = report.cells.iter().filter(is_it).collect();
        let table = table::table(part, through).rows(cells.iter().map(|cell| table::row(cell)));
        let content = figures(&cells) + &html::table(&table);
        let id = format!("{part}-{through}");
        (!cells.is_empty()).then(|| Section::new(id, sentence_case(&table.title), content))
    });
    let mut sections: Vec<_> = sections.collect();
    if !report.sequences.is_empty() {
        let tables = report.sequences.iter().map(|it| html::table(&it.table()));
        let note = "<p>The paper's figures 1 to 3: the first handshake and three messages, with the ports of both \
                    ends, the client's as the sender knows it. Over DTLS 1.3 a HelloRetryRequest has the cookie.</p>\n";
        let content = note.to_owned() + &tables.collect::<String>();
        sections.push(Section::new("sequences", "Message sequences", content));
    }
    let [sentence, rest] = summary(report);
    let page = Page {
        title: "Clients that move",
        answer: answer(&sentence, &rest),
        introduction: introduction(report),
        sections,
        legend: LEGEND,
    };
    page.with_report(&report.experiment, report)
}

fn sentence_case(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Returns the answer, the sentence that matters first: how soon the arms go on whose clients listen to their interfaces.
pub(crate) fn summary(report: &Report) -> [String; 2] {
    let of = |arm, part| {
        let is_it = |cell: &&Cell| {
            let CellName { part: its, through, arm: its_arm, scenario, .. } = &cell.name;
            let by_event = scenario.detection == Detection::Event;
            (*its, *through, *its_arm) == (part, Through::Virtual, arm)
                && scenario.delay_ms == DELAY_MS
                && (scenario.interfaces, scenario.timeouts) == (1, 1)
                && by_event == (part == Part::Detection)
        };
        report.cells.iter().find(is_it)
    };
    let trips = |arm| {
        let cell = of(arm, Part::Detection)?;
        Some(cell.recovery_ms(|it| it.all_us)?.value / (2.0 * DELAY_MS))
    };
    let nothing = || {
        [
            "Nothing was measured of clients that listen to their interfaces.".to_owned(),
            String::new(),
        ]
    };
    let (Some(cid), Some(early), Some(full)) =
        (trips(Arm::CidRrc), trips(Arm::ZeroRttFs), trips(Arm::Full))
    else {
        return nothing();
    };
    let sentence = format!(
        "A client that moves, and listens to its interfaces, has its first new acknowledgement after {} round trips with \
         connection IDs, {} with forward-secret early data and {} with a full handshake.",
        fixed(cid, 2),
        fixed(early, 2),
        fixed(full, 2)
    );
    let share = of(Arm::CidRrc, Part::Paper).and_then(|cell| {
        let [all, detection] =
            [cell.recovery_ms(|it| it.all_us)?, cell.recovery_ms(|it| it.detection_us)?];
        Some(detection.value / all.value)
    });
    let rest = share.map(|share| {
        format!(
            "All of this is with {DELAY_MS} ms one way, in virtual time. In the paper's run, where the client waits for a \
             time-out, {} of the time from a usable path to the acknowledgement is that wait.",
            percent(share)
        )
    });
    [sentence, rest.unwrap_or_default()]
}

/// The delay of the answer, one way, in milliseconds.
const DELAY_MS: f64 = 30.0;

fn introduction(report: &Report) -> String {
    let runs = report.cells.iter().map(|cell| cell.samples.len()).sum::<usize>();
    let facts = [
        ("Machine", report.machine.to_string()),
        ("Runs", count(runs)),
        ("Seed", report.seed.to_string()),
        ("Revision", report.revision.clone().unwrap_or_else(|| "unknown".to_owned())),
    ];
    format!(
        "<p>A client sends one message after the other, and changes its network: in the paper's run every 10 seconds.</p>\n{}",
        description_list(&facts)
    )
}

/// One figure for each scenario; those of a part have one axis.
fn figures(cells: &[&Cell]) -> String {
    let mut scenarios: Vec<String> = Vec::new();
    for cell in cells {
        let words = cell.name.scenario.words();
        if !scenarios.contains(&words) {
            scenarios.push(words);
        }
    }
    let figures: Vec<_> = scenarios
        .iter()
        .map(|words| {
            let there = cells.iter().filter(|cell| cell.name.scenario.words() == *words);
            let strips =
                there.filter(|cell| cell.recoveries().next().is_some()).map(|cell| strip(cell));
            Figure {
                title: format!("From a usable path to the first acknowledgement: {words}"),
                unit: "ms",
                note: "",
                lanes: &["first acknowledgement"],
                strips: strips.collect(),
            }
        })
        .collect();
    on_one_axis(&figures).concat()
}

fn strip(cell: &Cell) -> Strip {
    let ms = |recovery: &Recovery| recovery.all_us as f64 / 1e3;
    Strip { name: table::name(&cell.name), lanes: vec![LaneData::of(cell.recoveries().map(ms))] }
}
