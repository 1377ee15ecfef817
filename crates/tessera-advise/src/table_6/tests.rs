use super::*;

fn table() -> Table6 {
    table_6(&Evidence::embedded().unwrap(), 134.0)
}

/// Each row as in the paper, and as the evidence judges it.
#[test]
fn every_row_is_judged_by_what_was_measured() {
    use Assessment::{Acceptable, Concerning, Promising};
    use RiskLevel::{High, Low};
    let expected = [
        ("PSK", (Concerning, High), (Concerning, High), "no forward secrecy"),
        ("PSK-(EC)DHE", (Acceptable, Low), (Acceptable, Low), "from the handshake on"),
        ("0-RTT", (Concerning, High), (Concerning, High), "times when its flight was replayed"),
        ("0-RTT FS", (Promising, Low), (Acceptable, Low), "executed at most once"),
        ("PSK + 0-RTT", (Concerning, High), (Concerning, High), "opens whole sessions"),
        ("full handshake", (Acceptable, Low), (Acceptable, Low), "from the handshake on"),
    ];
    let table = table();
    assert_eq!(table.rows.len(), expected.len());
    for (row, (name, paper, ours, reason)) in table.rows.iter().zip(expected) {
        assert_eq!(row.reconnection, name);
        assert_eq!((row.paper.assessment, row.paper.risk), paper, "{name}");
        let judged = row.ours.as_ref().unwrap();
        assert_eq!((judged.assessment, judged.risk), ours, "{name}: {judged}");
        assert!(judged.reason.contains(reason), "{name}: {judged}");
        // Its measured cost.
        let response = &row.cost.first().unwrap().numbers[0];
        assert!(response.value > 134e3, "{name}: {row:?}");
    }
}

/// Other results of the attacks change the judgement.
#[test]
fn the_judgement_follows_the_adversary() {
    let mut evidence = Evidence::embedded().unwrap();
    for found in &mut evidence.protections {
        found.executions = if found.way.option == Letter::E { 2 } else { 1 };
    }
    let table = table_6(&evidence, 33.0);
    let fs = table.rows[3].ours.as_ref().unwrap();
    assert_eq!((fs.assessment, fs.risk), (Assessment::Concerning, RiskLevel::High));
    assert!(fs.reason.starts_with("one request was executed 2 times"), "{fs}");
    let zero_rtt = table.rows[2].ours.as_ref().unwrap();
    assert!(!zero_rtt.reason.contains("executed"), "{zero_rtt}");
    evidence.protections.clear();
    assert!(table_6(&evidence, 33.0).rows.iter().all(|row| row.ours.is_none()));
}

#[test]
fn one_time_psks_depend_on_their_deletion() {
    let evidence = Evidence::embedded().unwrap();
    let psk = evidence.protection(Way::forward_secret(OneTimeKey::Psk, None)).unwrap();
    let judged = judge(psk);
    assert_eq!((judged.assessment, judged.risk), (Assessment::Conditional, RiskLevel::Medium));
}

#[test]
fn the_table_reads_as_text_and_as_json() {
    let text = table().to_string();
    for row in ["\nPSK\n", "\nPSK + 0-RTT\n", "paper: promising, low risk: Requires validation"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let json = serde_json::to_value(table()).unwrap();
    assert_eq!(json["rows"][3]["paper"]["assessment"], "promising");
    assert_eq!(json["rows"][0]["ours"]["risk"], "high");
}
