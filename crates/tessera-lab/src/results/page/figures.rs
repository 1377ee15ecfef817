//! The figures of the page.

use tessera_reports::load::Kind;
use tessera_reports::roaming::{Cell, Setup};
use tessera_reports::{Continuation, KeyExchange, Letter, OneTimeKey, Variant};

use crate::components::{Kind as Connection, Memory, Side};
use crate::load::report::Cell as LoadCell;
use crate::load::storms::{Storms, storms as storms_of};
use crate::names;
use crate::numbers::count;
use crate::page::chart::{Chart, Line};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::results::input::{Inputs, is_plain};
use crate::results::numbers::{
    FIRST_BYTE_MS, Field, HANDSHAKE_MS, RESPONSE_MS, known_quantile, median,
};
use crate::results::paper;
use crate::statistics::Median;
use crate::table::Name;
use crate::topology;

/// Fig. 9: ours and the paper's.
pub(super) fn latency(inputs: &Inputs) -> String {
    let cells: Vec<_> = inputs.plain(Setup::Engine).collect();
    if cells.is_empty() {
        return String::new();
    }
    let fields: [Field; 2] = [|sample| sample.send_us, |sample| sample.receive_us];
    let lanes = ["sending", "receiving"];
    let ours = Figure {
        title: "Sending and receiving, in one process".to_owned(),
        unit: "µs",
        note: "Both latencies have the server's work on the request's flight in them, as in the paper's Fig. 8.",
        lanes: &lanes,
        strips: cells.iter().map(|cell| strip(cell, &fields)).collect(),
    };
    let of_paper = Letter::ALL.into_iter().filter_map(|option| {
        let [send, receive, ..] = paper::latency(option)?;
        Some(bars(option.letter(), names::option(option), &[send, receive].map(Some)))
    });
    let papers = Figure {
        title: "The same in the paper's simulation (its Fig. 9)".to_owned(),
        unit: "µs",
        note: "Python, on another machine.",
        lanes: &lanes,
        strips: of_paper.collect(),
    };
    on_one_axis(&[ours, papers]).concat()
}

/// Fig. 12, and the distance.
pub(super) fn regions(inputs: &Inputs) -> String {
    let fields: [Field; 3] = [FIRST_BYTE_MS, HANDSHAKE_MS, RESPONSE_MS];
    let figures = topology::ROAMING.map(|stretch| {
        let cells = inputs.plain(Setup::Endpoints);
        let cells = cells.filter(|cell| cell.name.link.name == stretch.name);
        Figure {
            title: format!("{}: {} ms", stretch.name, stretch.rtt_ms),
            unit: "ms since connect()",
            note: "First byte: accepted by the server's application. TCP takes the first round trip of each.",
            lanes: &["first byte", "handshake", "response"],
            strips: cells.map(|cell| strip(cell, &fields)).collect(),
        }
    });
    on_one_axis(&figures).concat() + &distance(inputs)
}

/// The median until the first byte was accepted, by distance.
fn distance(inputs: &Inputs) -> String {
    let cells: Vec<_> = inputs.plain(Setup::Endpoints).collect();
    let lines = LINES.map(|(name, wanted)| {
        let cells = cells.iter().filter(|cell| wanted(&cell.name.variant));
        let mut points: Vec<_> = cells
            .filter_map(|cell| Some((cell.name.link.rtt_ms, median(cell, FIRST_BYTE_MS)?)))
            .collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Line { name, points }
    });
    chart(Chart {
        title: "Until the first byte is accepted, by distance".to_owned(),
        value: "ms since connect()",
        varied: "round-trip time, ms",
        note: "All with X25519.",
        lines: lines.into(),
    })
}

/// An option of a chart, and the variant that represents it.
pub(super) type ChartOption = (&'static str, fn(&Variant) -> bool);

pub(super) const LINES: [ChartOption; 4] = [
    ("(a) full", |it| it.option == Letter::A && it.kx == Some(KeyExchange::X25519)),
    ("(c) PSK-DHE", |it| it.option == Letter::C && it.kx == Some(KeyExchange::X25519)),
    ("(d) 0-RTT", |it| it.option == Letter::D && it.kx == Some(KeyExchange::X25519)),
    ("(e) 0-RTT FS", |it| {
        it.ticket_key == Some(OneTimeKey::X25519) && it.continuation == Some(Continuation::PskKe)
    }),
];

/// The worst of the links between the cities: loss in bursts, and the most congestion.
pub(super) fn disturbed(inputs: &Inputs) -> String {
    let cells: Vec<_> = inputs.usual(Setup::Endpoints).collect();
    let far = |cell: &&&Cell| cell.name.link.name == topology::ROAMING[2].name;
    let worst = |of: fn(&Cell) -> f64| cells.iter().map(|cell| of(cell)).fold(0.0, f64::max);
    let (loss, congestion) =
        (worst(|cell| cell.name.link.loss), worst(|cell| cell.name.link.congestion));
    let lossy = cells.iter().filter(far).filter(|cell| {
        let link = &cell.name.link;
        loss > 0.0 && link.loss == loss && link.loss_burst > 1.0
    });
    let congested = cells
        .iter()
        .filter(far)
        .filter(|cell| congestion > 0.0 && cell.name.link.congestion == congestion);
    let fields: [Field; 2] = [FIRST_BYTE_MS, RESPONSE_MS];
    let figure = |title: &str, strips: Vec<Strip>| Figure {
        title: title.to_owned(),
        unit: "ms since connect()",
        note: "Between Seoul and Los Angeles.",
        lanes: &["first byte", "response"],
        strips,
    };
    let lossy = figure("Losses in bursts", lossy.map(|cell| strip(cell, &fields)).collect());
    let congested = figure("Congestion", congested.map(|cell| strip(cell, &fields)).collect());
    on_one_axis(&[lossy, congested]).concat()
}

/// The first response through two SEPPs.
pub(super) fn sepp(inputs: &Inputs) -> String {
    // Not only those of the paper's suite: two SEPPs have another.
    let cells: Vec<_> = inputs.cells(Setup::Sepp).filter(|cell| is_plain(cell)).collect();
    let mut figures = String::new();
    for cells in cells.chunk_by(|one, other| one.name.link == other.name.link) {
        let Some(first) = cells.first() else { continue };
        let strips = cells.iter().map(|cell| {
            let registration = cell.registration.iter().flat_map(|it| &it.samples_us);
            let lanes = vec![
                LaneData::of(cell.samples.iter().filter_map(RESPONSE_MS)),
                LaneData::of(registration.map(|us| us / 1e3)),
            ];
            let name = Name::new(cell.name.key(), names::full(&cell.name.variant));
            Strip { name, lanes }
        });
        let figure = Figure {
            title: format!("Through two SEPPs: {}", first.name.link.name),
            unit: "ms",
            note: "After the connection between the two had gone.",
            lanes: &["first response", "registration"],
            strips: strips.collect(),
        };
        figures += &figure.render();
    }
    figures
}

/// Fig. 10, load by users, and the storm.
pub(super) fn load(inputs: &Inputs) -> String {
    let memory: Vec<_> = inputs.load.iter().flat_map(|load| &load.memory).collect();
    let figures = [Connection::New, Connection::Resumed].map(|connection| {
        let of = |variant: &Variant, side: Side| {
            let mut there = memory.iter().filter(|it| it.variant == *variant && it.side == side);
            there.find(|it| it.connection == connection).map(|it| it.total as f64)
        };
        let is_row = |it: &&&Memory| it.connection == connection && it.side == Side::Client;
        let strips = memory.iter().filter(is_row).map(|it| {
            let sides = [Side::Client, Side::Server].map(|side| of(&it.variant, side));
            bars(&it.variant.key(), &names::variant(&it.variant), &sides)
        });
        Figure {
            title: format!("Memory of a {} connection (Fig. 10)", connection.name()),
            unit: "bytes",
            note: "All that was allocated; the table has the components.",
            lanes: &["client", "server"],
            strips: strips.collect(),
        }
    });
    let cells = inputs.load.as_ref().map_or_else(Default::default, |load| load.cells.as_slice());
    on_one_axis(&figures).concat() + &by_users(cells) + &storms(cells)
}

fn by_users(cells: &[LoadCell]) -> String {
    let lines = LINES.map(|(name, wanted)| {
        let cells = cells.iter().filter(|it| it.kind == Kind::Users && wanted(&it.variant));
        let mut points: Vec<_> = cells
            .filter_map(|cell| {
                let value = cell.registration_us.quantile(0.5)? / 1e3;
                Some((cell.users as f64, Median { value, interval: None }))
            })
            .collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Line { name, points }
    });
    chart(Chart {
        title: "A registration after coming back, by users".to_owned(),
        value: "ms, median",
        varied: "users at once",
        note: "All with X25519.",
        lines: lines.into(),
    })
}

fn storms(cells: &[LoadCell]) -> String {
    let storms = storms_of(cells);
    let row = |storms: &Storms<'_>| storms.all.first().map(|cell| cell.variant);
    let figures = storms.chunk_by(|one, other| row(one) == row(other)).filter_map(|sizes| {
        let strips = sizes.iter().filter_map(|storms| {
            let first = storms.all.first()?;
            let name = Name::new(
                format!("{}/{}", first.variant.key(), first.users),
                format!("{} connections", count(first.users)),
            );
            Some(Strip { name, lanes: [0.5, 0.99].map(|share| lane(storms, share)).into() })
        });
        Some(Figure {
            title: format!("Storms: {}", names::variant(&row(sizes.first()?)?)),
            unit: "ms until the first byte was accepted",
            note: "All connections come back at once. A dot is a storm, where it ran several times.",
            lanes: &["median", "99th percentile"],
            strips: strips.collect(),
        })
    });
    on_one_axis(&figures.collect::<Vec<_>>()).concat()
}

/// Returns a dot for each storm; of a single one, a bar.
fn lane(storms: &Storms<'_>, share: f64) -> LaneData {
    let times = storms.measures();
    let ms = times.filter_map(|it| Some(known_quantile(&it.first_accepted_us, share)? / 1e3));
    match ms.collect::<Vec<_>>().as_slice() {
        [ms] => bar(*ms),
        all => LaneData::of(all.iter().copied()),
    }
}

/// How often an observer is right.
pub(super) fn traffic(inputs: &Inputs) -> String {
    let tables = inputs.traffic.iter().flat_map(|traffic| &traffic.confusion.tables);
    let strips = tables.enumerate().map(|(index, table)| {
        let padding =
            table.padding.map_or_else(|| "not padded".to_owned(), |it| format!("padded to {it}"));
        let name = format!("{}, {padding}, {} ms", table.features.name(), table.rtt_ms);
        bars(
            &format!("traffic/{index}"),
            &name,
            &[table.accuracy, table.chance].map(|it| Some(it * 100.0)),
        )
    });
    Figure {
        title: "How many flows are classified correctly".to_owned(),
        unit: "%",
        note: "By what the observer looks at.",
        lanes: &["right", "by chance"],
        strips: strips.collect(),
    }
    .render()
}

/// Returns a cell's samples.
fn strip(cell: &Cell, fields: &[Field]) -> Strip {
    Strip {
        name: Name::new(cell.name.key(), names::variant(&cell.name.variant)),
        lanes: fields
            .iter()
            .map(|field| LaneData::of(cell.samples.iter().filter_map(field)))
            .collect(),
    }
}

/// Returns a bar for each value; for one that is missing, none.
fn bars(key: &str, name: &str, values: &[Option<f64>]) -> Strip {
    Strip {
        name: Name::new(key, name),
        lanes: values.iter().map(|value| value.map_or_else(|| LaneData::of([]), bar)).collect(),
    }
}

fn bar(value: f64) -> LaneData {
    LaneData::Bar((value * 10.0).round() / 10.0)
}

/// A chart of the lines that have points, if there are any.
fn chart(mut chart: Chart) -> String {
    chart.lines.retain(|line| !line.points.is_empty());
    if chart.lines.is_empty() { String::new() } else { chart.render() }
}
