//! Parses `docs/facts.md`, and checks every fact that the tests of this program read against it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// The document.
pub(crate) static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/facts.md");
    Document::read(&std::fs::read_to_string(path).unwrap())
});

/// The events, each with its fields in their order.
pub(crate) struct Document(BTreeMap<String, Vec<Field>>);

struct Field {
    name: String,
    /// The kinds of value that it may have.
    kinds: Vec<Kind>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Null,
    Integer,
    Number,
    String,
    Integers,
    /// This value alone.
    Value(Value),
}

impl Document {
    fn read(text: &str) -> Self {
        let (mut events, mut common) = (BTreeMap::new(), Vec::new());
        let mut event = None;
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                event = (title == "Every line").then(String::new);
            } else if let Some(name) = line.strip_prefix("### ") {
                let name = name.trim_matches('`').to_owned();
                events.insert(name.clone(), Vec::new());
                event = Some(name);
            } else if let (Some(field), Some(event)) = (Field::read(line), &event) {
                events.get_mut(event).unwrap_or(&mut common).push(field);
            }
        }
        for (event, fields) in &mut events {
            let mut all = vec![Field {
                name: "event".to_owned(),
                kinds: vec![Kind::Value(event.as_str().into())],
            }];
            all.extend(common.iter().skip(1).map(Field::copy));
            all.append(fields);
            *fields = all;
        }
        assert_eq!(common.first().map(|field| field.name.as_str()), Some("event"));
        Self(events)
    }

    /// Parses a line, which must match the document.
    pub(crate) fn parse(&self, line: &str) -> Value {
        let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        self.check(&value).unwrap_or_else(|wrong| panic!("docs/facts.md: {wrong}: {line}"));
        let fields = &self.0[value["event"].as_str().unwrap()];
        let places = fields.iter().map(|field| line.find(&format!("\"{}\":", field.name)));
        assert!(places.is_sorted(), "docs/facts.md has another order: {line}");
        value
    }

    /// Returns how a fact deviates from the document.
    pub(crate) fn check(&self, fact: &Value) -> Result<(), String> {
        let told = fact.as_object().ok_or("not an object")?;
        let fields = self.fields(told)?;
        for field in fields {
            let value = told.get(&field.name).ok_or(format!("{} is not there", field.name))?;
            if field.kind(value).is_none() {
                return Err(format!("{} is {value}, not {:?}", field.name, field.kinds));
            }
        }
        let known: BTreeSet<_> = fields.iter().map(|field| &field.name).collect();
        match told.keys().find(|name| !known.contains(name)) {
            Some(name) => Err(format!("{name} is not documented")),
            None => Ok(()),
        }
    }

    fn fields(&self, told: &Map<String, Value>) -> Result<&Vec<Field>, String> {
        let event = told.get("event").and_then(Value::as_str).ok_or("event is not there")?;
        self.0.get(event).ok_or(format!("the event {event} is not documented"))
    }

    /// Returns what no fact has shown: events, and for each field each kind and value that it may have, as `EVENT`,
    /// `EVENT.FIELD TYPE`.
    pub(crate) fn unseen(&self, facts: &[Value]) -> BTreeSet<String> {
        let mut unseen = BTreeSet::new();
        for (event, fields) in &self.0 {
            let facts: Vec<_> = facts.iter().filter(|fact| fact["event"] == **event).collect();
            if facts.is_empty() {
                unseen.insert(event.clone());
                continue;
            }
            for field in fields {
                let seen: Vec<_> =
                    facts.iter().filter_map(|fact| field.kind(&fact[&field.name])).collect();
                let missing = field.kinds.iter().filter(|kind| !seen.contains(kind));
                unseen
                    .extend(missing.map(|kind| format!("{event}.{} {}", field.name, kind.name())));
            }
        }
        unseen
    }
}

impl Field {
    /// Parses a row of a table.
    fn read(line: &str) -> Option<Self> {
        let cells: Vec<_> = line.strip_prefix("| `")?.split(" | ").collect();
        let [name, kinds, _] = cells[..] else { panic!("a row has three cells: {line}") };
        let kinds = kinds.split(" or ").flat_map(|kinds| kinds.split(", ")).flat_map(Kind::read);
        Some(Self { name: name.trim_end_matches('`').to_owned(), kinds: kinds.collect() })
    }

    fn copy(&self) -> Self {
        Self { name: self.name.clone(), kinds: self.kinds.clone() }
    }

    /// Returns the kind that matches this value.
    fn kind(&self, value: &Value) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.has(value))
    }
}

impl Kind {
    fn read(name: &str) -> Vec<Self> {
        vec![match name {
            "null" => Self::Null,
            "boolean" => return vec![Self::Value(true.into()), Self::Value(false.into())],
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "object of integers" => Self::Integers,
            value => {
                let value = value.strip_prefix('`').and_then(|value| value.strip_suffix('`'));
                Self::Value(serde_json::from_str(value.expect(name)).expect(name))
            }
        }]
    }

    fn has(&self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Integer => value.as_u64().is_some_and(|number| number < 1 << 53),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Integers => {
                value.as_object().is_some_and(|all| all.values().all(|it| Self::Integer.has(it)))
            }
            Self::Value(only) => value == only,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Value(value) => value.to_string(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

#[test]
fn a_line_that_is_not_as_documented_is_found() {
    let right = serde_json::json!({
        "event": "listening", "facts": 1, "address": "a:1", "fingerprint": null, "self_signed": true,
        "fast_open": null, "fast_open_lacks": null,
    });
    assert_eq!(DOCUMENT.check(&right), Ok(()));
    let wrong = |field: &str, value: Option<Value>| {
        let mut fact = right.as_object().unwrap().clone();
        match value {
            Some(value) => fact.insert(field.to_owned(), value),
            None => fact.remove(field),
        };
        DOCUMENT.check(&fact.into()).unwrap_err()
    };
    assert!(wrong("event", Some("other".into())).contains("not documented"));
    assert!(wrong("more", Some(1.into())).contains("more is not documented"));
    assert!(wrong("address", None).contains("address is not there"));
    assert!(wrong("address", Some(Value::Null)).contains("address is null"));
    assert!(wrong("facts", Some(2.into())).contains("facts is 2"));
    assert!(wrong("self_signed", Some("true".into())).contains("self_signed"));
    let unseen = DOCUMENT.unseen(&[right]);
    assert!(unseen.contains("listening.fingerprint string"), "{unseen:?}");
    assert!(
        !unseen.contains("listening.fingerprint null") && unseen.contains("load"),
        "{unseen:?}"
    );
}
