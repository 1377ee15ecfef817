//! Rewords errors of TOML and serde, and suggests a fix.

use toml::de::Error;

use super::place::Place;

/// Returns what is wrong, without the line.
pub(super) fn in_words(error: &Error, text: &str) -> String {
    let message = printable(error.message());
    let place = error.span().and_then(|span| Place::at(&span, text));
    if let Some((key, known)) = unknown(&message, "unknown field") {
        let table = place.as_ref().and_then(Place::table);
        let here =
            table.map_or("there is no key".to_owned(), |table| format!("{table} has no key"));
        return format!("{here} `{key}`{}", instead(key, &known, "its keys are"));
    }
    let at = place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    if message.contains("-----BEGIN") {
        // It may be a private key, and this message is logged.
        return format!("{at}this is text in PEM; write the path of its file");
    }
    if let Some((value, known)) = unknown(&message, "unknown variant") {
        return format!("{at}`{value}` is not valid{}", instead(value, &known, "use one of"));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        let table = place.map(|place| format!(" from {}", place.as_table())).unwrap_or_default();
        return format!("the key {key} is missing{table}");
    }
    if message == "duplicate key" {
        let key = error.span().and_then(|span| text.get(span)).unwrap_or_default();
        return format!("`{}` occurs twice; remove one of them", printable(key));
    }
    if is_unquoted(&message) {
        return format!("{at}this is neither a number nor true or false; put text in quotes");
    }
    format!("{at}{}", without_rust(&message))
}

/// Returns the key that is missing, if that is the error.
pub(super) fn missing_key(error: &Error) -> Option<&str> {
    error.message().strip_prefix("missing field `")?.strip_suffix('`')
}

/// Whether a value without quotes is neither a number nor true nor false.
fn is_unquoted(message: &str) -> bool {
    ["invalid float", "invalid boolean", "string values must be quoted"]
        .iter()
        .any(|start| message.starts_with(start))
}

/// Rewords what serde expected and found in TOML's terms, with the value to write if that is clear.
fn without_rust(message: &str) -> String {
    let unexpected = ["invalid type: ", "invalid value: "];
    let Some((wrong, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let Some(found) = unexpected.iter().find_map(|prefix| wrong.strip_prefix(prefix)) else {
        return format!("{wrong}, expected {expected}");
    };
    let text = found.strip_prefix("string ");
    let number = ["integer ", "floating point "].iter().find_map(|kind| found.strip_prefix(kind));
    let value = match found {
        "map" => "a table",
        "sequence" => "a list",
        _ => text.or(number).or(found.strip_prefix("boolean ")).unwrap_or(found),
    };
    let (least, whole) = match expected.strip_prefix("a nonzero ") {
        Some(whole) => (1, whole),
        None => (0, expected),
    };
    let needed = match whole {
        _ if expected.starts_with("seconds, or ") => {
            return format!("{value} is not a time; write {expected}");
        }
        _ if expected.starts_with("bytes, or ") => {
            return format!("{value} is not a length; write {expected}");
        }
        "a sequence" if text.is_some() => return format!("it must be a list; write [{value}]"),
        "a string" => match number {
            Some(number) => {
                let number = number.trim_matches('`');
                return format!("it must be text; put it in quotes: \"{number}\"");
            }
            None => "text in quotes".to_owned(),
        },
        "a map" => "a table".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "u8" => format!("a whole number from {least} to {}", u8::MAX),
        "u16" => format!("a whole number from {least} to {}", u16::MAX),
        "u32" => format!("a whole number from {least} to {}", u32::MAX),
        "u64" | "usize" => format!("a whole number of at least {least}"),
        _ if expected.starts_with("struct ") => "a table".to_owned(),
        _ => expected.to_owned(),
    };
    format!("it must be {needed}, not {value}")
}

/// Returns the unknown name and the known ones, which serde quotes in backticks.
fn unknown<'a>(message: &'a str, what: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let rest = message.strip_prefix(what)?.strip_prefix(" `")?;
    // The unknown name is arbitrary text; known names have no backticks.
    let (name, known) = match rest.rfind("`, expected ") {
        Some(end) => (rest.get(..end)?, rest.get(end + 1..)?),
        None => (rest.split("`, there are no ").next()?, ""),
    };
    Some((name, known.split('`').skip(1).step_by(2).collect()))
}

/// Suggests what to write instead of `name`.
pub(super) fn instead(name: &str, known: &[&str], introduction: &str) -> String {
    match nearest(name, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; {introduction} `{}`", known.join("`, `")),
    }
}

/// Returns the known name that `name` probably misspells.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = known
        .iter()
        .map(|&known| (strsim::damerau_levenshtein(&folded(name), &folded(known)), known))
        // A third of its letters may be wrong, and at least one.
        .filter(|(distance, known)| *distance <= (known.chars().count() / 3).max(1))
        .min();
    near.map(|(_, near)| near)
}

/// Folds spellings that people confuse: `tcpFastOpen`, `TCP_FAST_OPEN` and `tcp-fast-open`.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the line of the next byte, counted from 1.
pub(super) fn line_at_end(before: &[u8]) -> usize {
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Escapes characters that command a terminal or begin a new line.
pub(super) fn printable(text: &str) -> String {
    let escaped = text
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() });
    escaped.collect()
}
