//! Ways to write JSON about which readers may disagree.

use std::borrow::Cow;

use super::Message;
use super::lies::Value;
use super::random::Random;

/// The lying member of a document.
#[derive(Clone, PartialEq)]
pub struct Draft {
    pub name: &'static str,
    /// Whether digits count as a network there.
    pub takes_digits: bool,
    pub raw_name: String,
    pub raw_value: String,
    pub value: Value,
    pub honest: String,
    pub before: String,
    pub after: String,
}

/// A document on its way to the wire.
pub struct Document {
    pub bytes: Vec<u8>,
    /// The content types; usually one.
    pub types: Vec<Cow<'static, str>>,
    pub coding: Option<&'static str>,
}

impl Document {
    pub fn put_into(self, mut message: Message) -> Message {
        for value in self.types {
            message = message.header("content-type", value.as_bytes());
        }
        if let Some(coding) = self.coding {
            message = message.header("content-encoding", coding);
        }
        message.body = self.bytes;
        message
    }
}

/// Writes JSON without tricks.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Network { mcc, mnc } => format!("{{\"mcc\":\"{mcc}\",\"mnc\":\"{mnc}\"}}"),
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
    }
}

/// Writes some letters as `\u0061`.
fn escaped(text: &str, random: &mut Random, one_in: usize) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match random.one_in(one_in) && letter.is_ascii_alphanumeric() {
            true if random.one_in(2) => out.push_str(&format!("\\u{:04x}", letter as u32)),
            true => out.push_str(&format!("\\u{:04X}", letter as u32)),
            false => out.push(letter),
        }
    }
    out
}

fn in_other_case(name: &str, random: &mut Random) -> String {
    let flipped = |letter: char| match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    let first = name.chars().take(1).map(flipped).chain(name.chars().skip(1)).collect();
    random.pick(&[name.to_uppercase(), name.to_lowercase(), first]).clone()
}

/// Writes the codes of a network as an object in another spelling, in place of the plain one.
fn codes(draft: &mut Draft, spelled: impl FnOnce(&str, &str) -> String) {
    if let Value::Network { mcc, mnc } = draft.value {
        draft.raw_value = draft.raw_value.replace(&plain(&draft.value), &spelled(mcc, mnc));
    }
}

/// Writes the text in another spelling.
fn text(draft: &mut Draft, spelled: impl FnOnce(&str) -> String) {
    if let Value::Text(text) = &draft.value {
        draft.raw_value =
            draft.raw_value.replace(&plain(&draft.value), &format!("\"{}\"", spelled(text)));
    }
}

/// Respells both: every quoted value.
fn values(draft: &mut Draft, spelled: impl Fn(&str) -> String) {
    codes(draft, |mcc, mnc| {
        format!("{{\"mcc\":\"{}\",\"mnc\":\"{}\"}}", spelled(mcc), spelled(mnc))
    });
    text(draft, spelled);
}

type Trick<T> = (&'static str, fn(&mut T, &mut Random));

/// Tricks in the lying member.
pub const MEMBER: &[Trick<Draft>] = &[
    ("name partly escaped", |draft, random| draft.raw_name = escaped(draft.name, random, 3)),
    ("name escaped", |draft, random| draft.raw_name = escaped(draft.name, random, 1)),
    ("name with NUL", |draft, _| draft.raw_name.push_str("\\u0000")),
    ("name with more behind NUL", |draft, _| draft.raw_name.push_str("\\u0000x")),
    ("name with a broken escape", |draft, _| draft.raw_name.push_str("\\u00zz")),
    ("name in other case", |draft, random| draft.raw_name = in_other_case(draft.name, random)),
    ("name in other case, escaped", |draft, random| {
        let name = in_other_case(draft.name, random);
        draft.raw_name = escaped(&name, random, 2);
    }),
    ("name with long s or Kelvin", |draft, _| {
        draft.raw_name = draft.name.replace(['s', 'S'], "\u{17f}").replace(['k', 'K'], "\u{212a}");
    }),
    ("name with escaped long s or Kelvin", |draft, _| {
        draft.raw_name = draft.name.replace(['s', 'S'], "\\u017f").replace(['k', 'K'], "\\u212A");
    }),
    ("twice, the lie last", |draft, _| {
        draft.before = format!("\"{}\":{},", draft.name, draft.honest)
    }),
    ("twice, the lie first", |draft, _| {
        draft.after = format!(",\"{}\":{}", draft.name, draft.honest)
    }),
    ("three times", |draft, _| {
        draft.before = format!("\"{}\":{},", draft.name, draft.honest);
        draft.after = format!(",\"{}\":{}", draft.name, draft.honest);
    }),
    ("twice, one in other case", |draft, random| {
        draft.before = format!("\"{}\":{},", draft.name, draft.honest);
        draft.raw_name = in_other_case(draft.name, random);
    }),
    ("twice, one escaped", |draft, random| {
        draft.after = format!(",\"{}\":{}", escaped(draft.name, random, 2), draft.honest);
    }),
    ("twice, one with NUL", |draft, _| {
        draft.after = format!(",\"{}\":{}", draft.name, draft.honest);
        draft.raw_name.push_str("\\u0000");
    }),
    ("twice, the first null", |draft, _| draft.before = format!("\"{}\":null,", draft.name)),
    ("half in each of two", |draft, _| {
        let Value::Network { mcc, mnc } = draft.value else { return };
        let half = |code: String| draft.raw_value.replace(&plain(&draft.value), &code);
        draft.before = format!("\"{}\":{},", draft.name, half(format!("{{\"mcc\":\"{mcc}\"}}")));
        draft.raw_value = half(format!("{{\"mnc\":\"{mnc}\"}}"));
    }),
    ("value partly escaped", |draft, random| {
        let seed = random.below(1 << 30) as u64;
        values(draft, |text| escaped(text, &mut Random::new(seed), 3));
    }),
    ("value escaped", |draft, _| values(draft, |text| escaped(text, &mut Random::new(1), 1))),
    ("value with escaped slashes", |draft, _| values(draft, |text| text.replace('/', "\\/"))),
    ("value with NUL", |draft, _| values(draft, |text| format!("{text}\\u0000"))),
    ("value with more behind NUL", |draft, _| {
        values(draft, |text| format!("{text}\\u0000.mnc001"))
    }),
    ("value with a broken escape", |draft, _| values(draft, |text| format!("{text}\\u00g0"))),
    ("codes as numbers", |draft, _| {
        codes(draft, |mcc, mnc| format!("{{\"mcc\":{mcc},\"mnc\":{mnc}}}"))
    }),
    ("codes in lists", |draft, _| {
        codes(draft, |mcc, mnc| format!("{{\"mcc\":[\"{mcc}\"],\"mnc\":[\"{mnc}\"]}}"));
    }),
    ("codes in other case", |draft, random| {
        let [first, second] = ["mcc", "mnc"].map(|name| in_other_case(name, random));
        codes(draft, |mcc, mnc| format!("{{\"{first}\":\"{mcc}\",\"{second}\":\"{mnc}\"}}"));
    }),
    ("codes with escaped names", |draft, _| {
        codes(draft, |mcc, mnc| format!("{{\"m\\u0063c\":\"{mcc}\",\"\\u006dnc\":\"{mnc}\"}}"));
    }),
    ("codes with NUL in their names", |draft, _| {
        codes(draft, |mcc, mnc| format!("{{\"mcc\\u0000\":\"{mcc}\",\"mnc\\u0000a\":\"{mnc}\"}}"));
    }),
    ("codes twice, the lie last", |draft, _| {
        codes(draft, |mcc, mnc| {
            format!("{{\"mcc\":\"001\",\"mnc\":\"01\",\"mcc\":\"{mcc}\",\"mnc\":\"{mnc}\"}}")
        });
    }),
    ("codes twice, the lie first", |draft, _| {
        codes(draft, |mcc, mnc| {
            format!("{{\"mcc\":\"{mcc}\",\"mnc\":\"{mnc}\",\"mcc\":\"001\",\"mnc\":\"01\"}}")
        });
    }),
    ("codes twice in other case", |draft, _| {
        codes(draft, |mcc, mnc| {
            format!("{{\"mcc\":\"001\",\"MCC\":\"{mcc}\",\"Mnc\":\"{mnc}\",\"mnc\":\"01\"}}")
        });
    }),
    ("codes among others", |draft, _| {
        codes(draft, |mcc, mnc| {
            format!(
                "{{\"nid\":\"000007ed9d5\",\"mnc\":\"{mnc}\",\"x\":{{\"mcc\":\"001\"}},\"mcc\":\"{mcc}\"}}"
            )
        });
    }),
    ("codes as text", |draft, random| {
        let hyphen = *random.pick(&["", "-"]);
        if draft.takes_digits {
            codes(draft, |mcc, mnc| format!("\"{mcc}{hyphen}{mnc}\""));
        }
    }),
    ("codes in a name", |draft, _| {
        codes(draft, |mcc, mnc| format!("\"5g:MNC{mnc:0>3}.MCC{mcc}.3gppnetwork.org\""));
    }),
    ("behind an honest one", |draft, _| {
        draft.raw_value = format!("[{},{}]", draft.honest, draft.raw_value)
    }),
    ("in lists", |draft, random| {
        let depth = 1 + random.below(20);
        draft.raw_value = format!("{}{}{}", "[".repeat(depth), draft.raw_value, "]".repeat(depth));
    }),
    ("in an unknown member", |draft, _| {
        draft.before = "\"vendor-x\":{".into();
        draft.after = "}".into();
    }),
    ("in the prototype", |draft, _| {
        draft.before = "\"__proto__\":{".into();
        draft.after = "}".into();
    }),
    ("in text", |draft, _| {
        let inner = serde_json::Value::from(draft.raw_value.as_str()).to_string();
        draft.before = format!("\"inner\":{inner},");
    }),
    ("behind a lone surrogate", |draft, _| draft.before = "\"x\":\"\\ud800\",".into()),
    ("behind a number of doubt", |draft, random| {
        let number =
            random.pick(&["01", "1.", "1e400", "-0", "1e", "1e+5-", "-", "0.1.2", "1E+400"]);
        draft.before = format!("\"x\":{number},");
    }),
    ("behind a raw control character", |draft, random| {
        let control = random.pick(&["\u{1}", "\n", "\t", "\u{1f}", "\u{7f}"]);
        draft.before = format!("\"x\":\"a{control}b\",");
    }),
    ("in strange white space", |draft, random| {
        let space = random.pick(&["\u{b}", "\u{c}", "\u{1}", "\r"]);
        draft.raw_value = format!("{space}{}{space}", draft.raw_value);
    }),
];

const TYPES: [&str; 22] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json; charset=iso-8859-1",
    "application/json, text/plain",
    "application/problem+json",
    "application/3gppHal+json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/xml",
    "application/vnd.3gpp.ngap",
    "application/jsonx",
    "application/json+x",
    "application/json/",
    "application/cbor",
    "image/png",
    "json",
    "*/*",
    "",
    "multipart/mixed",
];

fn wide(document: &mut Document, unit: impl Fn(u32) -> Vec<u8>, mark: bool) {
    let text = String::from_utf8_lossy(&document.bytes).into_owned();
    let mark = mark.then_some('\u{feff}');
    document.bytes =
        mark.into_iter().chain(text.chars()).flat_map(|letter| unit(letter as u32)).collect();
}

/// Tricks in the whole document, its type and coding.
pub const DOCUMENT: &[Trick<Document>] = &[
    ("typed strangely", |document, random| document.types = vec![(*random.pick(&TYPES)).into()]),
    ("typed as a form", |document, _| {
        document.types = vec!["application/x-www-form-urlencoded".into()]
    }),
    ("typed as text", |document, _| document.types = vec!["text/plain".into()]),
    ("without a type", |document, _| document.types.clear()),
    ("with two types", |document, random| {
        let at = random.below(2);
        document.types.insert(at, (*random.pick(&TYPES)).into());
    }),
    ("with a coding that is none", |document, random| {
        document.coding =
            Some(*random.pick(&["identity", "Identity", "x-identity", "utf-8", "gzip", ""]));
    }),
    ("behind a byte order mark", |document, _| drop(document.bytes.splice(0..0, *b"\xef\xbb\xbf"))),
    ("in UTF-16", |document, random| {
        let mark = random.one_in(2);
        let (order, unit): (_, fn(u32) -> Vec<u8>) = match random.one_in(2) {
            true => ("le", |letter| (letter as u16).to_le_bytes().into()),
            false => ("be", |letter| (letter as u16).to_be_bytes().into()),
        };
        wide(document, unit, mark);
        if !mark || random.one_in(2) {
            document.types = vec![format!("application/json; charset=utf-16{order}").into()];
        }
    }),
    ("next to bytes that are no UTF-8", |document, random| {
        const BYTES: &[&[u8]] = &[b"\xff", b"\xc0\xa2", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"];
        let bytes = *random.pick(BYTES);
        let member = [b"{\"x\":\"", bytes, b"\","].concat();
        if document.bytes.first() == Some(&b'{') {
            document.bytes.splice(0..1, member);
        }
    }),
    ("before other bytes", |document, random| {
        const BYTES: &[&[u8]] = &[
            b" x",
            b"}",
            b"\0",
            b"\0{\"a\":1}",
            b" {\"a\":1}",
            b"\n[]",
            b",",
            b"\xff",
            b"//",
            b"\x1a",
            b"&a=b",
        ];
        let rest = *random.pick(BYTES);
        document.bytes.extend_from_slice(rest);
    }),
    ("behind other bytes", |document, random| {
        const BYTES: &[&[u8]] =
            &[b"\x0b", b"\x01\x02", b"\x0c\n", b"\x1e", b"\x1f ", b"\xef\xbb\xbf\x0b"];
        let bytes = *random.pick(BYTES);
        document.bytes.splice(0..0, bytes.iter().copied());
    }),
    ("in a list", |document, _| {
        document.bytes.insert(0, b'[');
        document.bytes.push(b']');
    }),
];
