//! Formats the result of a run of BoGo as a table: what passed, and what didn't run for which reason.
//!
//! `bogo-report ALL RESULTS CONFIG ABSENT ALL_DTLS DTLS DOCUMENT`: the runner's results (`-json-output`) of a run in
//! which every test is declined, which names them all; those of the run itself; the runner's configuration; what the
//! shim declined, a line per test; a line per test of DTLS, of all and of those that ran; and the document whose part
//! between two marks is replaced. Fails if a test failed.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use serde_json::{Map, Value};

fn main() -> ExitCode {
    match run() {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            failed.iter().for_each(|name| eprintln!("FAILED {name}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bogo-report: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the names of the tests that failed.
fn run() -> Result<Vec<String>, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [all, results, config, absent, all_dtls, dtls, document] = arguments.as_slice() else {
        return Err("usage: bogo-report ALL RESULTS CONFIG ABSENT ALL_DTLS DTLS DOCUMENT".into());
    };
    let all = object(&json(all)?, "tests")?;
    let results = object(&json(results)?, "tests")?;
    let disabled = object(&json(config)?, "DisabledTests")?;
    let absent = read(absent)?;
    let (all_dtls, dtls) = (read(all_dtls)?.lines().count(), read(dtls)?.lines().count());

    let actual = |wanted: &'static str| {
        let is = move |test: &Value| test.get("actual").and_then(Value::as_str) == Some(wanted);
        results.iter().filter(move |(_, test)| is(test)).map(|(name, _)| name)
    };
    let (passed, declined) = (actual("PASS").count(), actual("SKIP").count());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in absent.lines() {
        *reasons.entry(feature).or_default() += 1;
    }
    if reasons.values().sum::<usize>() != declined {
        return Err("the shim declined other tests than the runner skipped".into());
    }
    for name in all.keys().filter(|name| !results.contains_key(*name)) {
        let reason = reason_for(&disabled, name).ok_or(format!("{name} did not run"))?;
        *reasons.entry(reason).or_default() += 1;
    }
    let unused = |pattern: &&String| !all.keys().any(|name| matches(pattern, name));
    if let Some(pattern) = disabled.keys().find(unused) {
        return Err(format!("no test is disabled by {pattern}"));
    }
    let table = table([all.len(), passed], [all_dtls, dtls], &reasons);
    println!("{table}");

    let failed: Vec<String> = actual("FAIL").cloned().collect();
    if failed.is_empty() {
        let text = replaced(&read(document)?, &table)?;
        fs::write(document, text).map_err(|error| format!("{document}: {error}"))?;
    }
    Ok(failed)
}

/// The mark of reasons that are no absent feature.
const BY_CHOICE: &str = "by choice: ";

/// Formats how many of all tests passed, and of those of DTLS.
fn table(
    [all, passed]: [usize; 2],
    [all_dtls, dtls]: [usize; 2],
    reasons: &BTreeMap<&str, usize>,
) -> String {
    let sorted = |chosen: bool| {
        let mut listed: Vec<_> = reasons
            .iter()
            .filter(|(reason, _)| reason.starts_with(BY_CHOICE) == chosen)
            .map(|(reason, count)| (reason.trim_start_matches(BY_CHOICE), *count))
            .collect();
        listed.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        listed
    };
    let (features, choices) = (sorted(false), sorted(true));
    let total = |listed: &[(&str, usize)]| listed.iter().map(|(_, count)| count).sum::<usize>();
    let mut out = format!(
        "Of {all} tests **{passed} passed** and none failed; {} are about features that Tessera does \
         not have, and {} want another behaviour than Tessera's. Of the {all_dtls} tests of DTLS {dtls} passed.\n\n\
         | feature | tests |\n|---|---:|\n",
        total(&features),
        total(&choices),
    );
    for (feature, count) in features {
        out += &format!("| {feature} | {count} |\n");
    }
    out += "\n| Tessera's behaviour, where the tests want another | tests |\n|---|---:|\n";
    for (choice, count) in choices {
        out += &format!("| {choice} | {count} |\n");
    }
    out
}

/// Returns the document with the part between its marks replaced.
fn replaced(document: &str, table: &str) -> Result<String, String> {
    const START: &str = "<!-- bogo: written by scripts/bogo -->\n";
    const END: &str = "<!-- bogo: end -->";
    let parts = document.split_once(START).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or("the document has no marks")?;
    Ok(format!("{before}{START}\n{table}\n{END}{after}"))
}

/// Returns the reason why a test is disabled: an absent feature before a choice, and of several that of the longest
/// pattern, which is the most specific.
fn reason_for<'d>(disabled: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    let patterns = disabled.iter().filter(|(pattern, _)| matches(pattern, name));
    let reasons = patterns.filter_map(|(pattern, reason)| Some((pattern, reason.as_str()?)));
    let rank = |(pattern, reason): &(&String, &str)| {
        (!reason.starts_with(BY_CHOICE), pattern.len(), pattern.to_string())
    };
    reasons.max_by_key(rank).map(|(_, reason)| reason)
}

/// Whether a pattern, in which `*` is any text, is this name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
}

fn object(value: &Value, key: &str) -> Result<Map<String, Value>, String> {
    let object = value.get(key).and_then(Value::as_object);
    object.cloned().ok_or(format!("no object {key}"))
}

fn json(path: &str) -> Result<Value, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_disabled_tests_match_as_the_runner_does() {
        for (pattern, name, expected) in [
            ("Basic", "Basic", true),
            ("Basic", "Basic-Client", false),
            ("Basic*", "Basic", true),
            ("*-TLS12", "Resume-TLS12", true),
            ("*-TLS12", "Resume-TLS12-TLS13", false),
            ("A*-*B", "A-x-B", true),
            ("A*-*B", "AxB", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_missing_feature_goes_before_a_choice_as_the_reason_of_a_test() {
        let config = serde_json::json!({
            "*": "anything",
            "Client-*": "clients",
            "Client-Sign*": "by choice: no signatures",
        });
        let config = config.as_object().cloned().unwrap_or_default();
        assert_eq!(reason_for(&config, "Client-Sign-RSA"), Some("clients"));
        assert_eq!(reason_for(&config, "Server"), Some("anything"));
    }

    #[test]
    fn the_table_of_reasons_replaces_the_last_one() {
        let document =
            "before\n<!-- bogo: written by scripts/bogo -->\nold\n<!-- bogo: end -->\nafter";
        let reasons = BTreeMap::from([("DTLS", 3), ("by choice: mine", 1)]);
        let once = replaced(document, &table([6, 2], [4, 1], &reasons)).expect("marks");
        assert!(once.contains("| DTLS | 3 |") && once.contains("| mine | 1 |"));
        assert!(once.contains("Of 6 tests **2 passed**") && !once.contains("old"));
        assert!(once.contains("Of the 4 tests of DTLS 1 passed."));
        assert_eq!(replaced(&once, &table([6, 2], [4, 1], &reasons)), Ok(once.clone()));
        assert!(replaced("no marks", "").is_err());
    }
}
