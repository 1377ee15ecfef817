//! Checks that a text is OpenMetrics 1.0.0, by the rules of its specification that this project's metrics can break.

use std::collections::{BTreeMap, BTreeSet};

/// A family of metrics.
#[derive(Debug, Default)]
pub struct Family {
    pub kind: String,
    pub unit: String,
    pub help: String,
    /// By name and labels, as written.
    pub samples: BTreeMap<String, f64>,
}

/// Parses a text, or returns what is wrong with it.
pub fn read(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it doesn't end with # EOF")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut series = BTreeSet::new();
    for line in body.split_terminator('\n') {
        let wrong = |what: &str| format!("{what}: {line}");
        let Some(comment) = line.strip_prefix("# ") else {
            let (name, labels, value) = sample(line).ok_or_else(|| wrong("no sample"))?;
            let family = families.get_mut(&current).ok_or_else(|| wrong("before its family"))?;
            let suffix = name.strip_prefix(&*current).ok_or_else(|| wrong("outside its family"))?;
            if !suffixes(&family.kind).contains(&suffix) {
                return Err(wrong("not a name of its type"));
            }
            if family.kind == "counter" && value < 0.0 || value.is_nan() {
                return Err(wrong("no value of a counter"));
            }
            let key = format!("{name}{{{}}}", labels.join(","));
            if !series.insert(key.clone()) {
                return Err(wrong("twice"));
            }
            family.samples.insert(key, value);
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        let (what, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let value = words.next().ok_or_else(|| wrong("no value"))?;
        if !is_name(name) {
            return Err(wrong("no name"));
        }
        if name != current {
            if families.contains_key(name) {
                return Err(wrong("a family in two places"));
            }
            current = name.to_owned();
        }
        let family = families.entry(current.clone()).or_default();
        if !family.samples.is_empty() {
            return Err(wrong("after its samples"));
        }
        let place = match what {
            "TYPE" if suffixes(value) != [] as [&str; 0] => &mut family.kind,
            "UNIT" if name.ends_with(&format!("_{value}")) => &mut family.unit,
            "HELP" if unescaped(value).is_some() => &mut family.help,
            _ => return Err(wrong("no such line")),
        };
        if !std::mem::replace(place, value.to_owned()).is_empty() {
            return Err(wrong("for the second time"));
        }
    }
    for (name, family) in &families {
        let ends = [("counter", "_total"), ("info", "_info")];
        if ends.iter().any(|(kind, end)| family.kind == *kind && name.ends_with(end)) {
            return Err(format!("{name} has the end of its samples"));
        }
        if family.samples.is_empty() || family.help.is_empty() || family.kind.is_empty() {
            return Err(format!("{name} lacks samples, help or type"));
        }
    }
    Ok(families)
}

fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total", "_created"],
        "gauge" | "unknown" => &[""],
        "info" => &["_info"],
        "histogram" => &["_bucket", "_count", "_sum", "_created"],
        _ => &[],
    }
}

/// Splits a line into name, labels as written, and value.
fn sample(line: &str) -> Option<(&str, Vec<String>, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            if let Some(after) = inside.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = inside.split_once("=\"")?;
            let mut is_escape = false;
            let end = after.find(|c| {
                let ends = c == '"' && !is_escape;
                is_escape = c == '\\' && !is_escape;
                ends
            })?;
            let value = &after[..end];
            unescaped(value)?;
            if !is_name(label) || label.contains(':') || label.starts_with("__") {
                return None;
            }
            if labels.insert(label, value).is_some() {
                return None;
            }
            inside = &after[end + 1..];
            inside = match inside.strip_prefix(',') {
                Some(next) if !next.starts_with('}') => next,
                Some(_) => return None,
                None if inside.starts_with('}') => inside,
                None => return None,
            };
        }
    }
    let value = rest.strip_prefix(' ')?;
    let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if !is_name(name) || !(value.chars().all(is_number) || ["+Inf", "-Inf", "NaN"].contains(&value))
    {
        return None;
    }
    let labels = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    Some((name, labels, value.parse().ok()?))
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Removes a text's escapes: \\, \", \n.
fn unescaped(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let mut plain = String::new();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}
