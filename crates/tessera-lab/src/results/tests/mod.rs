//! Tables of reports whose numbers are known.

mod refused;
mod reports;

use serde_json::{Value, json};

use self::reports::{load, roaming, traffic, usual};
use super::input::Inputs;
use super::{page, tables};
use crate::numbers::NOTHING;
use crate::table::Table;

fn inputs() -> Inputs {
    let texts = [roaming(), load(), traffic()].map(|report| report.to_string());
    Inputs::of(Some(&texts[0]), Some(&texts[1]), Some(&texts[2])).unwrap()
}

fn table(name: &str) -> Table {
    let all = tables::all(&inputs());
    let (_, table) = all.into_iter().find(|(known, _)| *known == name).unwrap();
    table.unwrap()
}

fn columns(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn every_table_is_made_of_whole_reports_and_none_of_nothing() {
    for (name, table) in tables::all(&inputs()) {
        let table = table.unwrap_or_else(|| panic!("no table {name}"));
        let width = table.columns.len();
        assert!(table.rows.iter().all(|row| row.cells.len() + table.names == width), "{name}");
    }
    for (name, table) in tables::all(&Inputs::default()) {
        assert_eq!(table, None, "{name}");
    }
}

#[test]
fn table_5_has_the_papers_numbers_next_to_the_medians_of_the_samples() {
    let table = table("table-5");
    assert_eq!(table.rows.len(), 15);
    // (a) is the first variant, so its work is 100; (d) with X25519 is the sixth: 150.
    let full = table.texts("(a) full handshake, X25519");
    assert_eq!(full[0], "9");
    assert_eq!(full[1..4], ["100.0±3.00", "200.0±0.00", "300.0±3.00"]);
    assert_eq!(full[4], "0.67×");
    assert_eq!(full[5..], ["734", "669", "1,403", "8.40×"]);
    let baseline = table.texts("(d) 0-RTT, no register, X25519");
    assert_eq!([&baseline[4], &baseline[8]], ["1.00×", "1.00×"]);
    assert_eq!(table.texts("(d') 0-RTT, single-use tickets, X25519")[5..], ["–"; 4]);
}

#[test]
fn the_answers_have_our_figure_next_to_the_papers_and_count_the_targets_that_are_missed() {
    let answers = table("answers");
    let question = "Table 5: total in µs, and factor to (d): (a) full handshake, X25519";
    assert_eq!(answers.texts(question), ["300.0±3.00; 0.67×", "1,403; 8.40×", "", ""]);
    let question = "Fig. 10: bytes of a resumed connection: (b) PSK only";
    assert_eq!(answers.texts(question)[1], "2.8 KB");
    let targets = table("targets");
    let reached: Vec<_> = targets.rows.iter().map(|row| row.cells[4].text()).collect();
    let yes = reached.iter().filter(|it| *it == "yes").count();
    let all = reached.iter().filter(|it| *it != NOTHING).count();
    let mut sums = [0, 0];
    for row in answers.rows.iter().filter(|row| !row.cells[3].text().is_empty()) {
        let text = row.cells[3].text();
        let counts: Vec<usize> = text.split(" of ").map(|it| it.parse().unwrap()).collect();
        sums = [sums[0] + counts[0], sums[1] + counts[1]];
        assert_eq!(row.cells[3].is_bad, counts[0] < counts[1], "{text}");
    }
    assert_eq!(sums, [yes, all]);
}

#[test]
fn the_time_of_the_link_is_apart_from_the_work_of_the_ends() {
    let table = table("seoul-los-angeles");
    // Two and a half round trips of 134 ms, and 0.1 ms of work.
    let full = table.texts("(a) full handshake, X25519");
    assert_eq!(full[4..6], ["335.0", "0.100"]);
    let fs = table.texts("(e) 0-RTT FS, X25519, psk_ke");
    assert_eq!(fs[4], "201.0");
}

/// The link accounts for the time that an option must wait. Any longer wait counts as beyond the link.
#[test]
fn a_round_trip_too_many_is_not_the_links() {
    let mut report = roaming();
    for cell in report["cells"].as_array_mut().unwrap() {
        let late = json!(vec![469_100.0; 9]);
        cell["samples"]["first_byte_us"] = late;
    }
    let inputs = Inputs::of(Some(&report.to_string()), None, None).unwrap();
    let all = tables::all(&inputs);
    let table = all.into_iter().find(|(name, _)| *name == "seoul-los-angeles").unwrap().1.unwrap();
    assert_eq!(table.texts("(a) full handshake, X25519")[4..6], ["335.0", "134.1"]);
}

#[test]
fn a_missing_number_has_no_bar() {
    let bars = |report: &Value| {
        let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
        let page = page::render(&inputs, &tables::all(&inputs), true);
        (page.matches("class=\"bar\"").count(), page.matches("H0.0\"/>").count())
    };
    let mut report = load();
    // Of resumed connections only the client's memory is there.
    let (before, empty) = bars(&report);
    assert_eq!(empty, 0);
    report["memory"].as_array_mut().unwrap().retain(|row| row["side"] == "client");
    assert_eq!(bars(&report), (before - usual().len(), 0));
}

#[test]
fn loss_and_congestion_are_next_to_the_undisturbed_link() {
    let loss = table("loss");
    assert_eq!(columns(&loss), ["link, option", "no loss", "1 %", "1 % in bursts of 3"]);
    assert_eq!(loss.rows.len(), 3 * 15);
    let cells = loss.texts("seoul-tokyo: (b) PSK only");
    assert!(cells[0].ends_with("(9)"), "{cells:?}");
    assert!(cells[1..].iter().all(|cell| cell.ends_with("(9, 1 failed)")), "{cells:?}");
    assert_eq!(columns(&table("congestion"))[1..], ["none", "20 % of the RTT"]);
}

#[test]
fn the_memory_of_a_connection_by_component_is_next_to_the_papers() {
    let memory = table("memory");
    let full = memory.texts("(a) full handshake, X25519, new, client");
    assert_eq!(full, ["10", "20", "1", "2", "3", "30", "66", "50", "40", "5", "9.2"]);
}

/// A run at two round-trip times has measured it twice.
#[test]
fn memory_that_was_measured_again_is_shown_once() {
    let mut report = load();
    let rows = report["memory"].as_array_mut().unwrap();
    let count = rows.len();
    let mut again = rows.clone();
    for row in &mut again {
        row["vault_bytes"] = json!(999);
    }
    rows.extend(again);
    let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
    let all = tables::all(&inputs);
    let memory = all.into_iter().find(|(name, _)| *name == "memory").unwrap().1.unwrap();
    assert_eq!(memory.rows.len(), count);
    assert!(memory.rows.iter().all(|row| row.cells[9].text() == "5"), "the first counts");
}

#[test]
fn two_sepps_are_measured_by_registrations_too() {
    let cells = table("sepp");
    let full = cells.texts("seoul-tokyo: (a) full handshake, X25519MLKEM768, 0x1301, memory");
    assert_eq!(full[4..], ["6.000", "7.000", "2.500", "3.500", "30.00", "40.00"]);
}

/// Returns the measurements and the verdicts of the rows that begin like this.
fn judged(table: &Table, start: &str) -> Vec<[String; 2]> {
    let rows = table.rows.iter().filter(|row| row.names[0].text.starts_with(start));
    rows.map(|row| [0, 4].map(|at: usize| row.cells[at].text())).collect()
}

#[test]
fn targets_are_judged_by_the_samples() {
    let targets = table("targets");
    let number =
        |measured: &str| measured.split(['×', ' ']).next().unwrap().parse::<f64>().unwrap();
    // 134 ms less, in all four pairs; buckets are known to half a percent.
    let sooner = judged(&targets, "storm of 1,000");
    assert_eq!(sooner.len(), 4);
    for [measured, reached] in sooner {
        assert!(measured.starts_with("0.995 round trips (0.97"), "{measured}");
        assert_eq!(reached, "yes");
    }
    // The more work, the further down: (e) has more than (a) here.
    let work = "storm: the server's TLS work, (e) X25519 psk_ke to (a) X25519MLKEM768";
    assert_eq!(judged(&targets, work).iter().map(|it| &it[1]).collect::<Vec<_>>(), ["no"]);
    let growth = judged(&targets, "growth up to 100 users");
    assert_eq!(growth, vec![["1.000 (1.000 to 1.000)", "yes"].map(str::to_owned); 15]);
    // (e) works 100 + 10 · 10 µs twice, (d) 100 + 10 · 5: on the link that is next to nothing.
    let near = judged(&targets, "seoul-tokyo: the response of (e)");
    assert_eq!(near.iter().map(|it| it[1].as_str()).collect::<Vec<_>>(), ["yes", "–"]);
    assert!(number(&near[0][0]) < 1.01 && number(&near[1][0]) > 1.2, "{near:?}");
    assert!(targets.rows.iter().all(|row| row.cells[2].text() == "100.00 %"));
}

/// Returns the report with each storm nine times: from round to round the machine does everything more slowly, and in the
/// last two the options of a round differ by more.
fn nine_rounds() -> Value {
    let mut report = load();
    let cells = report["cells"].as_array_mut().unwrap();
    let (storms, mut all): (Vec<_>, Vec<_>) =
        cells.drain(..).partition(|cell| cell["kind"] == "storm");
    for round in 1..=9 {
        for cell in &storms {
            let mut cell = cell.clone();
            let slow = f64::from(round);
            let unlike = if round > 7 && cell["option"] == "e" { 1.1 } else { 1.0 };
            let us = cell["server_tls_us_per_connection"].as_f64().unwrap();
            cell["round"] = json!(round);
            cell["server_tls_us_per_connection"] = json!(us * slow * unlike);
            all.push(cell);
        }
    }
    report["cells"] = json!(all);
    report
}

#[test]
fn storms_of_several_rounds_are_compared_round_by_round() {
    let report = nine_rounds().to_string();
    let inputs = Inputs::of(None, Some(&report), None).unwrap();
    let table = |wanted: &str| {
        let found = tables::all(&inputs).into_iter().find(|(name, _)| *name == wanted);
        found.unwrap().1.unwrap()
    };
    // (e) works 100 + 10 · 11 µs, (a) 100 + 10 · 1: of nine ratios, two are a tenth more.
    let targets = table("targets");
    let kind = |row: &str| {
        let row = targets.rows.iter().find(|it| it.names[0].text.starts_with(row)).unwrap();
        [0, 1].map(|at: usize| row.cells[at].text())
    };
    let [single] = &judged(
        &self::table("targets"),
        "storm: the server's TLS work, (e) X25519 psk_ke to (a) X25519MLKEM768",
    )[..] else {
        panic!("one row")
    };
    let [measured, kind_of_work] =
        kind("storm: the server's TLS work, (e) X25519 psk_ke to (a) X25519MLKEM768");
    let ratio = single[0].trim_end_matches('×');
    assert!(measured.starts_with(&format!("{ratio}× ({ratio} to ")), "{measured} {single:?}");
    assert_eq!(
        kind_of_work,
        "the median of its rounds' ratios, of unlike groups, as was asked for"
    );
    let [measured, kind_of_times] = kind("storm of 1,000");
    assert!(measured.starts_with("0.995 round trips (0.995 to 0.995)"), "{measured}");
    assert_eq!(kind_of_times, "the median of its rounds' differences of medians");

    // The table has medians with their intervals: of nine rounds the fifth, from the second to the eighth.
    let storm = table("storm").texts("(a) full handshake, X25519: 1,000");
    let place =
        |name: &str| columns(&table("storm")).iter().position(|it| *it == name).unwrap() - 1;
    assert_eq!(storm[place("rounds")], "9");
    assert_eq!(storm[place("of it TLS")], "500.0±300");
    assert_eq!(storm[place("TLS, of (a)'s")], "1.000±0.000");
}

#[test]
fn a_storm_that_occurs_twice_is_refused() {
    let mut report = nine_rounds();
    for cell in report["cells"].as_array_mut().unwrap() {
        if cell["round"] == 2 {
            cell["round"] = json!(3);
        }
    }
    let (name, what) = Inputs::of(None, Some(&report.to_string()), None).err().unwrap();
    assert_eq!(name, "load.json");
    assert!(what.contains("storm 3/1000/134ms/") && what.contains("occurs twice"), "{what}");
}

/// Connections that fail take no time and no work: nothing is reached by them.
#[test]
fn no_target_is_reached_by_failing() {
    let mut report = load();
    for cell in report["cells"].as_array_mut().unwrap() {
        let asked = cell["users"].as_u64().unwrap() * cell["reconnections"].as_u64().unwrap();
        if cell["option"] != "e" || asked < 1_000 {
            continue;
        }
        let failed = asked * 99 / 100;
        let is_storm = cell["kind"] == "storm";
        cell["failed"] = json!(failed);
        cell["why_failed"] = json!({ "no room": failed });
        cell["requests"] = json!((asked - failed) * if is_storm { 1 } else { 13 });
        for field in ["first_accepted_us", "response_us"] {
            cell[field] = json!([[100.0, asked - failed]]);
        }
        cell["registration_us"] =
            json!(if is_storm { vec![] } else { vec![(100.0, asked - failed)] });
        cell["server_tls_us_per_connection"] = json!(0.5);
        cell["server_cpu_us_per_connection"] = json!(0.5);
    }
    let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
    let all = tables::all(&inputs);
    let targets = all.into_iter().find(|(name, _)| *name == "targets").unwrap().1.unwrap();
    let storms = judged(&targets, "storm");
    assert_eq!(storms.len(), 4 + 4 + 2);
    assert!(storms.iter().all(|[_, reached]| reached == "undecided"), "{storms:?}");
    for row in targets.rows.iter().filter(|row| row.names[0].text.contains("(e)")) {
        assert_eq!([2, 4].map(|at: usize| row.cells[at].text()), ["1.00 %", "undecided"]);
    }
}

#[test]
fn the_vault_of_a_storm_is_counted_by_the_ticket() {
    let mut report = load();
    let vault = |report: &Value| {
        let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
        let all = tables::all(&inputs);
        let storm = all.into_iter().find(|(name, _)| *name == "storm").unwrap().1.unwrap();
        assert_eq!(columns(&storm).last(), Some(&"vault, bytes a ticket"));
        storm.texts("(b) PSK only: 1,000").pop().unwrap()
    };
    // 77 bytes of 7 tickets.
    assert_eq!(vault(&report), "11");
    for cell in report["cells"].as_array_mut().unwrap() {
        cell["tickets"] = json!(0);
    }
    assert_eq!(vault(&report), "–");
}

/// The maximum of a few samples must not pass for what one in a thousand exceeds.
#[test]
fn a_quantile_is_shown_where_there_are_samples_enough() {
    // A hundred samples each: 99 of 335 ms, one of twice that.
    let users = table("load");
    let first = users.texts("(a) full handshake, X25519: 10")[4].to_owned();
    let shown: Vec<_> = first.split(" / ").collect();
    assert_eq!(shown.len(), 4, "{first}");
    assert_eq!(shown[2], "–");
    let ms = [0, 1, 3].map(|at: usize| shown[at].parse::<f64>().unwrap());
    assert!(ms[0] == ms[1] && (1.98..2.02).contains(&(ms[2] / ms[0])), "{first}");
    for (name, column) in [("loss", "median and the longest"), ("seoul-tokyo", "longest")] {
        let table = table(name);
        let words = table.note.clone() + &columns(&table).join(" ");
        assert!(words.contains(column) && !words.contains("p99"), "{words}");
    }
}

#[test]
fn an_option_pays_as_computed_by_the_break_even() {
    let table = table("break-even");
    // (e) psk_ke against (a): a round trip of 134 ms sooner; and each ticket costs 40 µs of work.
    let cells = table.texts("(e) 0-RTT FS, X25519, psk_ke against (a) full handshake, X25519");
    let gain: f64 = cells[0].parse().unwrap();
    assert!((133.0..134.0).contains(&gain), "{gain}");
    assert_ne!(cells[2], "never");
    assert!(table.rows.iter().all(|row| !row.names[0].text.starts_with("(a)")));
}

/// The report's own evaluation of its flows doesn't count.
#[test]
fn the_confusion_of_options_is_made_from_the_flows() {
    let confusion = table("confusion");
    assert_eq!(columns(&confusion), ["flows of", "taken for (a)", "taken for (e)"]);
    assert_eq!(confusion.texts("(a), both, 33 ms, not padded"), ["10", "0"]);
    assert_eq!(confusion.texts("(e), both, 33 ms, padded to 512"), ["0", "10"]);
    assert_eq!(table("traffic").texts("times, 33 ms, not padded")[2], "50.0 %");
    assert_eq!(
        table("padding").texts("(e), 33 ms, padding 512"),
        ["900", "2,000", "1.00", "50.00"]
    );
}

#[test]
fn cells_that_were_not_run_are_listed_and_counted() {
    let table = table("not-run");
    assert_eq!(table.texts("no program etcd | here"), ["1", ""]);
    let report = roaming();
    let failed: u64 = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["failed"].as_u64().unwrap())
        .sum();
    assert_eq!(table.texts("reset"), ["", failed.to_string().as_str()]);
}

#[test]
fn the_page_has_every_table_and_no_script_of_a_report() {
    let inputs = inputs();
    let page = page::render(&inputs, &tables::all(&inputs), true);
    for (name, _) in tables::all(&inputs) {
        assert!(page.contains(&format!("data-row=\"{name}/0\"")), "{name}");
    }
    assert!(page.contains("href=\"roaming.json\""));
    assert!(!page.contains("NaN"));
    for figure in [
        "Sending and receiving, in one process",
        "seoul-tokyo: 33 ms",
        "Losses in bursts",
        "Congestion",
        "Through two SEPPs: seoul-tokyo",
        "Memory of a resumed connection (Fig. 10)",
        "A registration after coming back, by users",
        "How many flows are classified correctly",
    ] {
        assert!(page.contains(figure), "{figure}");
    }
    let empty = page::render(&Inputs::default(), &tables::all(&Inputs::default()), false);
    assert!(empty.contains("Table 5: sending and receiving: not recorded yet"));
    assert!(!empty.contains("<figure>"));
    // A missing report has no link, and ids don't show.
    assert!(!empty.contains("href=\"roaming.") && !empty.contains(".json\""), "{empty}");
    assert!(page.contains("href=\"roaming.md\"") && page.contains("<caption>Storms: all"));
    assert!(!page.contains("<caption>table 5") && !page.contains("<caption>not run"));
}

/// Where a number follows from others of the report, it is made from them.
#[test]
fn a_reports_claims_about_its_own_numbers_are_ignored() {
    let cells = table("load");
    assert_eq!(cells.texts("(a) full handshake, X25519: 10")[3], "1,300", "2,600 requests in 2 s");
    assert_eq!(table("growth").rows.len(), usual().len(), "the report has none");
}
