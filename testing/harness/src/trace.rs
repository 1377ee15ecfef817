//! The handshake traces of RFC 8448, as stored for the engine's tests.

use std::collections::HashMap;

/// One trace: sections of named values.
pub struct Trace {
    /// Section, name and value in the order of the file.
    entries: Vec<(String, String, Vec<u8>)>,
    index: HashMap<(String, String), usize>,
}

impl Trace {
    /// Reads the text of a trace.
    pub fn read(text: &str) -> Self {
        let mut section = String::new();
        let mut entries = Vec::new();
        let mut index = HashMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.to_owned();
            } else if let Some((name, value)) = line.split_once(" = ") {
                index.insert((section.clone(), name.to_owned()), entries.len());
                entries.push((section.clone(), name.to_owned(), unhex(value)));
            }
        }
        Self { entries, index }
    }

    /// Returns a value, which must exist.
    pub fn get(&self, section: &str, name: &str) -> &[u8] {
        self.find(section, name).expect("the trace has this value")
    }

    /// Returns a value, if it is there.
    pub fn find(&self, section: &str, name: &str) -> Option<&[u8]> {
        let at = *self.index.get(&(section.to_owned(), name.to_owned()))?;
        Some(&self.entries[at].2)
    }

    /// Returns a section in order.
    pub fn section<'t>(&'t self, section: &'t str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        let entries = self.entries.iter().filter(move |(of, ..)| of == section);
        entries.map(|(_, name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns a message.
    pub fn message(&self, name: &str) -> &[u8] {
        self.get("messages", name)
    }

    /// Returns a secret.
    pub fn secret(&self, name: &str) -> &[u8] {
        self.get("secrets", name)
    }
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("digits");
            u8::from_str_radix(pair, 16).expect("pairs of hexadecimal digits")
        })
        .collect()
}
